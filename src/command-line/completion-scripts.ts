import type { shells } from './completion.ts'

// Each asks the program, which prints "files", or "words" and a word a line. Nothing that was typed is evaluated. Whatever
// the first word is, the connbook on the PATH is asked: Tab must not run what lies in somebody else's folder. Only an
// absolute path that nobody else can change is asked itself.

/** For bash and zsh. In `ls -n` the 6th and 9th characters are the right of others to write, and the 10th is the sticky bit. */
const isSafe = `# Whether a program and all folders above it are root's or one's own, no link, and not for others to change.
_connbook_is_safe() {
  local at=$1 listed mode links owner rest
  local -a parts
  [[ $at == /* && -f $at && -x $at ]] || return 1
  while [[ -n $at ]]; do
    parts+=("$at")
    at=\${at%/*}
  done
  listed=$(command ls -ldn -- / "\${parts[@]}" 2> /dev/null) || return 1
  while IFS=' ' read -r mode links owner rest; do
    [[ $mode == [-d]????[!w]??[!w]* || $mode == d????????[tT]* ]] || return 1
    [[ $owner == 0 || $owner == "$EUID" ]] || return 1
  done <<< "$listed"
}
`

const bash = `# bash completion of connbook. For all users: /usr/share/bash-completion/completions/connbook
${isSafe}_connbook() {
  local program=$1 lines
  [[ $program == '~/'* ]] && program=$HOME/\${program:2}
  _connbook_is_safe "$program" || program=connbook
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
${isSafe}_connbook() {
  local program=\${(Q)words[1]}
  local -a lines
  [[ $program == '~/'* ]] && program=$HOME/\${program[3,-1]}
  _connbook_is_safe "$program" || program=connbook
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
# Whether a program and all folders above it are root's or one's own, no link, and not for others to change.
function __connbook_is_safe
    set -l at "$argv[1]"
    set -l parts /
    set -l self (id -u)
    string match -q -- '/*' "$at"; and test -f "$at" -a -x "$at"; or return 1
    while test -n "$at"
        set -a parts "$at"
        set at (string replace -r -- '/[^/]*$' '' "$at")
    end
    set -l listed (command ls -ldn -- $parts 2> /dev/null); or return 1
    for line in $listed
        set -l fields (string split -n ' ' -- "$line")
        string match -qr -- '^([-d].{4}[^w].{2}[^w]|d.{8}[tT])' "$fields[1]"; or return 1
        contains -- "$fields[3]" 0 "$self"; or return 1
    end
end
function __connbook_complete
    set -l words (commandline -opc)
    set -l last (commandline -ct | string unescape)
    set -l program $words[1]
    string match -q -- '~/*' $program; and set program $HOME/(string sub -s 3 -- $program)
    __connbook_is_safe "$program"; or set program connbook
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
