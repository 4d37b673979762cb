# fish completion of datumctl-compute
function __datumctl_compute_complete
    set -l words (commandline -opc)
    # A word that is not begun yet is a word, too.
    set -l last (commandline -ct)
    test -n "$last"; or set last ""
    $words[1] __complete $words[2..-1] "$last" 2>/dev/null | string match --invert --regex '^:[0-9]+$'
end
complete --command datumctl-compute --no-files --arguments '(__datumctl_compute_complete)'
