import type { shells } from './completion.ts'

// Each asks the program, which prints "files", or "words" and a word a line. Nothing that was typed is evaluated.

const bash = `# bash completion of connbook. For all users: /usr/share/bash-completion/completions/connbook
_connbook() {
  local lines
  mapfile -t lines < <("$1" complete bash "$COMP_WORDBREAKS" -- "\${COMP_LINE:0:COMP_POINT}" 2> /dev/null)
  if [[ \${lines[0]-} == files ]]; then
    compopt -o default
    COMPREPLY=()
  else
    COMPREPLY=("\${lines[@]:1}")
  fi
}
complete -F _connbook connbook
`

const zsh = `#compdef connbook
# zsh completion of connbook: a file _connbook in a folder of $fpath.
_connbook() {
  local -a lines
  lines=("\${(@f)$("\${(Q)words[1]}" complete zsh -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2> /dev/null)}")
  if [[ $lines[1] == files ]]; then
    _files
  else
    shift lines
    compadd -- "\${(@)lines}"
  fi
}
if [[ $funcstack[1] == _connbook ]]; then
  _connbook "$@"
else
  compdef _connbook connbook
fi
`

const fish = `# fish completion of connbook: ~/.config/fish/completions/connbook.fish
function __connbook_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct | string unescape)
    set -l lines ($words[1] complete fish -- $words[2..] "$last" 2> /dev/null)
    if test "$lines[1]" = files
        __fish_complete_path "$last"
    else
        printf '%s\\n' $lines[2..]
    end
end
complete -c connbook -f -a '(__connbook_complete)'
`

/** The script for each shell, which its user installs once. */
export const completionScripts: Readonly<Record<(typeof shells)[number], string>> = { bash, zsh, fish }
