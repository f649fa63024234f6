import { parts } from '../built.ts'
import { defineCommand } from '../command-line/command.ts'
import { completionScriptOf, completionScripts, shells } from '../command-line/completion.ts'
import { shown } from '../command-line/output.ts'
import { typedProgram } from '../command-line/typed.ts'
import { UsageError } from '../errors.ts'
import { eitherOf } from '../text.ts'

export const completionCommand = defineCommand({
  name: 'completion',
  operands: 'SHELL',
  completes: shells,
  summary: 'print a script for the Tab key of a shell',
  examples: [
    ['source <(connbook completion bash)', ''],
    ['connbook completion fish > ~/.config/fish/completions/connbook.fish', ''],
  ],
  notes: [
    'SHELL is bash, zsh or fish. Names of records come from the server; if it does not answer within 0.3 s, there are none.',
  ],
  flags: [],
  async run({ operands: [name] }, { print, environment }) {
    const shell = shells.find((known) => known === name)
    if (shell === undefined)
      throw new UsageError(`Cannot complete in "${name}": it must be ${eitherOf(shells)}`)
    const file = parts?.file
    const script =
      file === undefined
        ? completionScripts[shell]
        : completionScriptOf(shell, file, typedProgram(file, environment))
    await shown(print(script), 'show the script')
  },
})
