#compdef datumctl-compute
# zsh completion of datumctl-compute
_datumctl_compute() {
    local line value
    local -a answer described plain
    answer=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    # Of `--flag=part` what stands behind the sign is completed.
    if [[ "${words[CURRENT]}" == -*=* ]]; then compset -P '*='; fi
    if [[ "${answer[*]}" == ":0" ]]; then
        _files
        return
    fi
    for line in "${answer[@]}"; do
        case "$line" in
            :*) ;;
            *$'\t'*) value="${line%%$'\t'*}"; described+=("${value//:/\\:}:${line#*$'\t'}") ;;
            ?*) plain+=("$line") ;;
        esac
    done
    (( ${#described} )) && _describe 'datumctl-compute' described
    (( ${#plain} )) && compadd -- "${plain[@]}"
}
# Sourced, it is registered; autoloaded from $fpath, this is its first call.
if [[ "${funcstack[1]}" == "_datumctl_compute" ]]; then
    _datumctl_compute "$@"
else
    compdef _datumctl_compute datumctl-compute
fi
