import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addAccount, noAccounts } from '../../src/auth/accounts.ts'
import { accountsDocument } from '../../src/auth/accounts-file.ts'
import { hashPassword } from '../../src/auth/password.ts'
import { digestSecret } from '../../src/auth/secret.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { runCommand } from '../support/command.ts'
import { hasTerminals, startAtTerminal } from '../support/pseudo-terminal.ts'
import { start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const BOLD = '\u001b[1m'
const NOT_BOLD = '\u001b[22m'

/** The lines that a command shows at a terminal. */
async function linesAtTerminal(
  t: Parameters<typeof startAtTerminal>[0],
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
) {
  const terminal = startAtTerminal(t, args, environment)
  assert.equal(await terminal.exitCode, 0)
  return terminal.screen().trimEnd().split('\r\n')
}

describe('a list at a terminal', { skip: !hasTerminals && 'there is no script command' }, () => {
  it('shows users and clients as tables, without bold text when NO_COLOR is set', async (t) => {
    const folder = await temporaryFolder(t)
    await (await start(t, { folder })).stop()
    const password = await hashPassword('secret')
    let accounts = addAccount(noAccounts, 'user', 'admin', password)
    accounts = addAccount(accounts, 'user', 'night watch', password, 'read')
    accounts = addAccount(accounts, 'client', 'ci', digestSecret('generated'))
    await accountsDocument(dataPaths(folder)).write(accounts)
    const users = ['user', 'list', '--data', folder]
    const rows = ['admin        read and write', 'night watch  read-only']
    assert.deepEqual(await linesAtTerminal(t, users), [`${BOLD}USER         MAY${NOT_BOLD}`, ...rows])
    for (const environment of [{ NO_COLOR: '1' }, { TERM: 'dumb' }])
      assert.deepEqual(await linesAtTerminal(t, users, environment), ['USER         MAY', ...rows])
    assert.deepEqual(await linesAtTerminal(t, ['client', 'list', '--data', folder], { NO_COLOR: '1' }), [
      'CLIENT  MAY',
      'ci      read and write',
    ])
    assert.equal((await runCommand(users)).stdout, 'admin\nnight watch\tread-only\n')
  })

  it('shows keys as a table', async (t) => {
    const folder = await temporaryFolder(t)
    await (await start(t, { folder })).stop()
    assert.equal((await runCommand(['keys', 'rotate', '--data', folder])).code, 0)
    const [title, ...rows] = await linesAtTerminal(t, ['keys', 'list', '--data', folder], { NO_COLOR: '1' })
    assert.match(title ?? '', /^KEY +SINCE +STATE$/)
    const column = title?.indexOf('STATE')
    assert.deepEqual(
      rows.map((row) => row.slice(column).split(' ')[0]),
      ['signs', 'verifies'],
    )
  })

  it('shows the headings of the help in bold, but not in a pipe', async (t) => {
    const atTerminal = (await linesAtTerminal(t, ['help', 'check'])).join('\n')
    const { stdout } = await runCommand(['help', 'check'])
    assert.ok(atTerminal.includes(`${BOLD}connbook check [FILE] [FLAGS]${NOT_BOLD}`))
    assert.equal(atTerminal.replaceAll(BOLD, '').replaceAll(NOT_BOLD, ''), stdout.trimEnd())
  })
})
