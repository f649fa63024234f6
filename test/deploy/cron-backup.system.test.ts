import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { readBlock } from '../manual/published.ts'
import { logIn } from '../support/api.ts'
import { executable, runExecutable, startExecutable } from '../support/executable.ts'
import { createClient, namesIn } from '../support/http-client.ts'
import { admin, firstStartEnvironment } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { runLine } from './shell.ts'

describe('the crontab of the chapter "backup"', () => {
  it('silently backs up a running server, to one file for each day of the month', async (t) => {
    const { data, backups, runJob } = await prepare(await temporaryFolder(t))
    const server = await startExecutable(t, ['--data', data], { environment: firstStartEnvironment })
    const ask = createClient(server.url, await logIn(server.url, admin))
    const silence = { code: 0, output: '' }
    for (const name of ['a', 'b']) {
      await ask('POST', '/configurations/', { body: draft(name) })
      assert.deepEqual(await runJob(), silence)
    }
    const [file = '', ...more] = await readdir(backups)
    // There are two if midnight has passed.
    assert.ok(more.length <= 1, `${more}`)
    assert.match(file, /^[0-3][0-9]\.json$/)
    await server.stop()

    const restored = join(backups, '..', 'restored')
    const path = join(backups, more[0] ?? file)
    assert.equal((await runExecutable(['restore', path, '--data', restored])).code, 0)
    const second = await startExecutable(t, ['--data', restored])
    const list = await createClient(second.url, await logIn(second.url, admin))('GET', '/configurations/')
    assert.deepEqual(namesIn(list), ['a', 'b'])
  })

  it('prints an error for cron to mail, and keeps the previous backup', async (t) => {
    const { data, backups, runJob } = await prepare(await temporaryFolder(t))
    const server = await startExecutable(t, ['--data', data])
    await server.stop()
    assert.equal((await runJob()).code, 0)
    const [file = ''] = await readdir(backups)
    const before = await readFile(join(backups, file))
    await truncate(join(data, 'accounts.json'), 20)
    const { code, output } = await runJob()
    assert.equal(code, 65)
    assert.match(output, /^connbook: .*accounts\.json/)
    assert.deepEqual(await readFile(join(backups, file)), before)

    await writeFile(join(backups, file), 'something else')
    assert.match((await runJob()).output, /there is a file that is no backup/)
  })
})

async function prepare(folder: string) {
  const [data, backups] = [join(folder, 'data'), join(folder, 'backups')]
  await mkdir(backups)
  const [path = '', job = '', ...rest] = readBlock('backup', 'cron').trimEnd().split('\n')
  assert.deepEqual(rest, [])
  const PATH = /^PATH=(\S+)$/.exec(path)?.[1] ?? assert.fail('no PATH')
  const line = /^[\d*]+ [\d*]+ [\d*]+ [\d*]+ [\d*]+ (\S+) (.*)$/.exec(job)
  assert.equal(line?.[1], 'root')
  const command = commandOf(line?.[2] ?? '')
    .replaceAll('/var/backups/connbook', backups)
    .replaceAll('/var/lib/connbook', data)

  const env = {
    SHELL: '/bin/sh',
    HOME: folder,
    LOGNAME: 'root',
    PATH: PATH.replace('/usr/local/bin', dirname(executable)),
  }
  /** As cron(8) runs it: by sh, in a bare environment; what it prints is mailed. */
  const runJob = () => runLine(command, { cwd: folder, env })
  return { data, backups, runJob }
}

/** The command of a line, by crontab(5): an unescaped `%` ends it. */
function commandOf(line: string): string {
  const [command = '', ...input] = line.split(/(?<!\\)%/)
  assert.deepEqual(input, [], 'cron would cut the line here')
  return command.replaceAll('\\%', '%')
}
