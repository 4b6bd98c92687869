# Completion of ggscope for fish. What there is, ggscope itself says.
function __ggscope_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    $words[1] __complete $words[2..-1] "$current" 2>/dev/null | while read -l line
        if test "$line" = :files
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete -c ggscope -f -a '(__ggscope_complete)'
