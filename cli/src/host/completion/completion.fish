# fish completion of datumctl-compute
function __datumctl_compute_complete
    set -l words (commandline -opc)
    # A word that is not begun yet is a word, too.
    set -l last (commandline -ct)
    test -n "$last"; or set last ""
    set -l answer ($words[1] __complete $words[2..-1] "$last" 2>/dev/null)
    # Candidates take the place of the whole word, and of `--flag=part` the answer has what stands behind the sign.
    set -l flag (string match --regex '^-[^=]*=' -- "$last")
    if test "$answer" = ":0"
        set answer (__fish_complete_path (string replace -- "$flag" "" "$last"))
    end
    for line in (string match --invert --regex '^:[0-9]+$' -- $answer)
        printf '%s%s\n' "$flag" $line
    end
end
complete --command datumctl-compute --no-files --arguments '(__datumctl_compute_complete)'
