import type { shells } from './completion.ts'

// Each asks the program, which prints "files", or "words" and a word a line. Nothing that was typed is evaluated. Another
// word than the program's, such as an alias, stands for the connbook on the PATH.

const bash = `# bash completion of connbook. For all users: /usr/share/bash-completion/completions/connbook
_connbook() {
  local program=$1 lines
  [[ $program == '~/'* ]] && program=$HOME/\${program:2}
  type -P -- "$program" > /dev/null || program=connbook
  mapfile -t lines < <("$program" complete bash "$COMP_WORDBREAKS" -- "\${COMP_LINE:0:COMP_POINT}" 2> /dev/null)
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
  local program=\${(Q)words[1]}
  local -a lines
  [[ $program == '~/'* ]] && program=$HOME/\${program[3,-1]}
  whence -p -- $program > /dev/null || program=connbook
  lines=("\${(@f)$("$program" complete zsh -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2> /dev/null)}")
  if [[ $lines[1] == files ]]; then
    [[ $PREFIX == --*=* ]] && compset -P 1 '*='
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
    set -l program $words[1]
    string match -q -- '~/*' $program; and set program $HOME/(string sub -s 3 -- $program)
    command -q -- $program; or set program connbook
    command -q -- $program; or return
    set -l lines ($program complete fish -- $words[2..] "$last" 2> /dev/null)
    if test "$lines[1]" = files
        set -l flag (string match -r -- '^--[^=]*=' "$last")
        set -l path (string sub -s (math 1 + (string length -- "$flag")) -- "$last")
        __fish_complete_path "$path" | string replace -r -- '^' "$flag"
    else
        string join -- \\n $lines[2..]
    end
end
complete -c connbook -f -a '(__connbook_complete)'
`

/** The script for each shell, which its user installs once. */
export const completionScripts: Readonly<Record<(typeof shells)[number], string>> = { bash, zsh, fish }
