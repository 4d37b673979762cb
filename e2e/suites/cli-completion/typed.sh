#!/bin/sh
# Types lines that end with TAB and Enter in a shell, and compares what is started then with what a user means.
#
#   typed.sh bash|zsh|fish
set -eu
shell=$1
KUBECONFIG=$(dirname "$KUBECONFIGS")/scratch/developers/$NAMESPACE/project-a.yaml
PROGRAM=$(command -v datumctl-compute)
HOME=$(mktemp -d)
export KUBECONFIG PROGRAM HOME TERM=xterm
unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_DATA_DIRS
trap 'rm -rf "$HOME" || true' EXIT
mkdir -p "$HOME/bin" "$HOME/fish/bin"
PATH=$HOME/bin:$PATH

# What is started writes down its words, and answers completion by the program.
cat >"$HOME/bin/kubectl-compute" <<'END'
#!/bin/sh
case "${1-}" in __complete*) exec "$PROGRAM" "$@" ;; esac
{ printf '%s' "${0##*/}"; printf ' [%s]' "$@"; echo; } >>"$HOME/started"
END
# The completion of datumctl is that of kubectl by another name, and it passes on what stands behind the plugin's.
cat >"$HOME/bin/datumctl" <<'END'
#!/bin/sh
[ "$1" != __complete ] || { shift 2 && exec "$PROGRAM" __complete "$@"; }
shift
exec datumctl-compute "$@"
END
cp "$HOME/bin/kubectl-compute" "$HOME/bin/datumctl-compute"
chmod +x "$HOME/bin/"*
kubectl completion "$shell" >"$HOME/kubectl"
sed 's/kubectl/datumctl/g' "$HOME/kubectl" >"$HOME/datumctl"
"$PROGRAM" completion "$shell" >"$HOME/own"

case $shell in
bash)
  echo ". '$BASH_COMPLETION/usr/share/bash-completion/bash_completion'" >"$HOME/start"
  set -- bash --noprofile --rcfile "$HOME/start" -i
  ;;
zsh)
  # It looks for its parts where it would be installed.
  {
    find "$ZSH/usr/lib" -type d -path '*/zsh/[0-9]*' -prune -printf "module_path=('%p')\n"
    find "$ZSH/usr/share/zsh/functions" -type d -printf "fpath+=('%p')\n"
    echo 'autoload -U compinit && compinit -u -D'
  } >"$HOME/start"
  ln -s start "$HOME/.zshrc"
  set -- "$(find "$ZSH/bin" "$ZSH/usr/bin" -name zsh 2>/dev/null | head -n 1)" -d -i
  ;;
fish)
  # Beside these directories it finds what it needs.
  cp "$FISH/usr/bin/fish" "$HOME/fish/bin/"
  ln -s "$FISH/usr/share" "$FISH/etc" "$HOME/fish/"
  LD_LIBRARY_PATH=$(echo "$FISH"/usr/lib/*-linux-*)
  export LD_LIBRARY_PATH
  # Where its completions from manual pages exist, it does not begin to write them in the background.
  mkdir -p "$HOME/.config/fish" "$HOME/.local/share/fish/generated_completions"
  ln -s ../../start "$HOME/.config/fish/config.fish"
  set -- "$HOME/fish/bin/fish" -i
  ;;
esac
for script in kubectl datumctl own; do
  echo ". '$HOME/$script'" >>"$HOME/start"
done

cd "$HOME"
touch workloads.yaml
while read -r line; do
  for program in 'kubectl compute' 'datumctl compute' datumctl-compute; do printf '%s %s\t\n' "$program" "$line"; done
done >typed <<'END'
status --output=js
deploy web --dry-run=se
deploy web --city=D
deploy -f workl
deploy --file=workl
deploy web --save workl
destroy comple
destroy completed --time
END
echo exit >>typed
script -qec "$*" /dev/null <typed >shown || true

while read -r words; do
  for program in kubectl-compute datumctl-compute datumctl-compute; do echo "$program $words"; done
done >expected <<'END'
[status] [--output=json]
[deploy] [web] [--dry-run=server]
[deploy] [web] [--city=DFW]
[deploy] [-f] [workloads.yaml]
[deploy] [--file=workloads.yaml]
[deploy] [web] [--save] [workloads.yaml]
[destroy] [completed]
[destroy] [completed] [--timeout]
END
diff -u expected started >&2 || { cat -v shown >&2; exit 1; }
