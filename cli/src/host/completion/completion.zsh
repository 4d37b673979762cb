#compdef datumctl-compute
# zsh completion of datumctl-compute
_datumctl_compute() {
    local line value
    local -a answer described plain
    answer=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
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
compdef _datumctl_compute datumctl-compute
