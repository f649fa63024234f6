import assert from 'node:assert/strict'

/** A command of the manual and the output that it shows. */
export interface Step {
  readonly command: string
  /** Lines without their `# `; `…` matches anything. */
  readonly output: readonly string[]
}

/** Parses a block: a command continues while its lines end in a backslash or a pipe. */
export function stepsOf(block: string): Step[] {
  const steps: { command: string; output: string[] }[] = []
  let isOpen = false
  for (const line of block.split('\n')) {
    const last = steps.at(-1)
    if (line.startsWith('# ') && last !== undefined) last.output.push(line.slice(2))
    else if (isOpen && last !== undefined) last.command += `\n${line}`
    else if (line !== '') steps.push({ command: line, output: [] })
    if (line !== '' && !line.startsWith('# ')) isOpen = /[\\|]$/.test(line)
  }
  return steps
}

/** Asserts that a command printed what the manual shows; where it shows nothing, that the command succeeded. */
export function assertShown({ command, output }: Step, printed: { text: string; code: number }): void {
  const told = `${command}\nended with ${printed.code}, and printed\n${printed.text}`
  const expected = output.join('\n')
  if (expected === '') assert.equal(printed.code, 0, told)
  else {
    const pattern = new RegExp(`^${expected.split('…').map(RegExp.escape).join('.*')}$`, 's')
    assert.match(printed.text, pattern, `${told}\ninstead of\n${expected}`)
  }
}
