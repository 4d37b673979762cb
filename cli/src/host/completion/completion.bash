# bash completion of datumctl-compute
_datumctl_compute() {
    local word line joined="" cut=""
    local -a words=() answer=()
    # bash takes `=` for a word of its own: `--output=js` comes as three.
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ ( "$word" == "=" || -n "$joined" ) && ${#words[@]} -gt 0 ]]; then
            words[${#words[@]}-1]+="$word"
            cut=1
        else
            words+=("$word")
            cut=""
        fi
        if [[ "$word" == "=" ]]; then joined=1; else joined=""; fi
    done
    mapfile -t answer < <("${COMP_WORDS[0]}" __completeNoDesc "${words[@]}" 2>/dev/null)
    COMPREPLY=()
    for line in "${answer[@]}"; do
        case "$line" in
            :*) if (( ${line#:} & 2 )); then compopt -o nospace 2>/dev/null; fi ;;
            *) if [[ -n "$cut" ]]; then line="${line#*=}"; fi; COMPREPLY+=("$line") ;;
        esac
    done
}
complete -F _datumctl_compute datumctl-compute
