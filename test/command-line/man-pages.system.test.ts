import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { manPages, roffCode, roffParagraph } from '../../src/command-line/man-pages.ts'
import { commands } from '../../src/commands/commands.ts'
import { runCommand } from '../support/command.ts'
import { missing } from '../support/debian.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)
const pages = manPages(commands)

describe('the man pages', () => {
  it('have nothing that mandoc warns of', { skip: missing('mandoc') }, async (t) => {
    const folder = await temporaryFolder(t)
    assert.equal((await runCommand(['man', '--write', folder])).code, 0)
    const files = pages.map(({ name, section }) => join(folder, `man${section}`, `${name}.${section}`))
    const { stdout } = await run('mandoc', ['-T', 'lint', '-W', 'warning', ...files])
    assert.equal(stdout, '')
  })

  it('have nothing that man warns of', { skip: missing('man') }, async (t) => {
    const env = { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', MANWIDTH: '80' }
    // One page behind the other: man starts half a dozen programs for each file.
    const all = join(await temporaryFolder(t), 'all.1')
    await writeFile(all, pages.map(({ text }) => text()).join(''))
    const args = ['--warnings', '-E', 'UTF-8', '-Tutf8', '-l']
    const { stderr, stdout } = await run('man', [...args, all], { env, maxBuffer: 2 ** 26 })
    assert.equal(stderr, '')
    for (const { name, section } of pages)
      assert.ok(stdout.includes(`${name.toUpperCase()}(${section})`), name)
  })
})

describe('roff', () => {
  it('shows code, dots, backslashes and other scripts as they are', {
    skip: missing('mandoc'),
  }, async (t) => {
    const lines = ['.a', "'b", '\\n[x] \\fB', 'é…😀', 'a - --b \'c\' `d` ^ ~ "e"']
    const path = join(await temporaryFolder(t), 'page')
    await writeFile(
      path,
      `.TH X 1 "2026-11-23"\n.SH NAME\nx \\- y\n${roffCode(lines)}${lines.map(roffParagraph).join('')}`,
    )
    // Bold is a character, a backspace and the character again.
    const typed = execFileSync('mandoc', ['-T', 'utf8', path], { encoding: 'utf8' })
    const shown = typed.replaceAll(new RegExp(`.${String.fromCharCode(8)}`, 'gu'), '')
    for (const line of lines.slice(0, 4)) assert.equal(shown.split(line).length, 3, line)
    assert.ok(shown.includes(lines[4] ?? ''))
  })
})
