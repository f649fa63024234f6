import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { dataFiles } from '../../src/files/data-folder.ts'
import { runCommand } from '../support/command.ts'
import { runExecutable } from '../support/executable.ts'
import { hasTerminals, keysOf, startAtTerminal } from '../support/pseudo-terminal.ts'
import { copyOf, makeUsedFolder, stateIn } from './kept-state.ts'
import { contentsIn } from './photograph.ts'

const { enter, ctrlC, ctrlD } = keysOf
const used = await makeUsedFolder({ after })

describe('connbook recover at a terminal', { skip: !hasTerminals && 'there is no script command' }, () => {
  for (const answer of ['y', 'Yes']) {
    it(`recovers when the answer is ${answer}`, async (t) => {
      const folder = await copyOf(used, t)
      await truncate(join(folder, dataFiles.keys), 10)
      const terminal = startAtTerminal(t, ['recover', '--data', folder])
      await terminal.sees('No change of a record is known to be lost')
      await terminal.sees(`Replace the content of ${folder} by this? [y/N] `)
      terminal.type(answer + enter)
      await terminal.sees('Recovered 8 records and 2 accounts')
      assert.equal(await terminal.exitCode, 0)
      assert.deepEqual(await stateIn(folder), used.current)
      assert.equal((await runCommand(['check', '--data', folder])).code, 0)
    })
  }

  const refusals = { no: `n${enter}`, nothing: enter, 'another word': `yesterday${enter}`, ctrlD }
  for (const [what, typed] of Object.entries(refusals)) {
    it(`changes nothing when the answer is ${what}, and exits with 2`, async (t) => {
      const folder = await copyOf(used, t)
      await truncate(join(folder, dataFiles.keys), 10)
      const before = await contentsIn(folder)
      const terminal = startAtTerminal(t, ['recover', '--data', folder])
      await terminal.sees('[y/N] ')
      terminal.type(typed)
      await terminal.sees('You did not agree; nothing has changed')
      assert.equal(await terminal.exitCode, 2)
      assert.deepEqual(await contentsIn(folder), before)
    })
  }
})

describe('connbook recover at a question', { skip: !hasTerminals && 'there is no script command' }, () => {
  it('ends with 130 after Ctrl-C, and changes nothing', async (t) => {
    const folder = await copyOf(used, t)
    await truncate(join(folder, dataFiles.keys), 10)
    const before = await contentsIn(folder)
    const terminal = startAtTerminal(t, ['recover', '--data', folder])
    await terminal.sees('[y/N] ')
    terminal.type(ctrlC)
    await terminal.sees('Interrupted at the question; nothing has changed')
    assert.equal(await terminal.exitCode, 130)
    assert.deepEqual(await contentsIn(folder), before)
  })
})

describe('connbook recover without a terminal', () => {
  it('does not take the answer from a pipe', async (t) => {
    const folder = await copyOf(used, t)
    await truncate(join(folder, dataFiles.keys), 10)
    const before = await contentsIn(folder)
    const { code, stderr } = await runExecutable(['recover', '--data', folder], { input: 'y\n' })
    assert.equal(code, 2)
    assert.match(stderr, /add --yes\n$/)
    assert.deepEqual(await contentsIn(folder), before)
  })
})
