import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { mkdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { runLine } from '../deploy/shell.ts'
import { missing } from '../support/debian.ts'
import { executable, runExecutable } from '../support/executable.ts'
import { usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { blocksOf, readBlock, readChapterNamed } from './published.ts'

const SSH = 'Type `ssh web1`'

/** A home with a folder of two records, and a shell in it. In a line, `~` and `/etc` are folders of this home. */
async function prepare(t: TestContext) {
  const home = await temporaryFolder(t)
  const data = await usedFolder(t)
  await mkdir(join(home, '.ssh'))
  await mkdir(join(home, 'etc/ssh/ssh_config.d'), { recursive: true })
  const PATH = [dirname(executable), process.env.PATH].join(':')
  const env = { PATH, HOME: home, LC_ALL: 'C.UTF-8', CONNBOOK_DATA: data }
  const moved = (text: string) =>
    text
      .replaceAll('~/', `${home}/`)
      .replaceAll(' /etc/', ` ${home}/etc/`)
      .replaceAll('/var/lib/connbook', data)
      // ssh takes the home from the system's accounts, not from HOME.
      .replace('Include connbook', `Include ${home}/.ssh/connbook`)
  const setPort = async (port: number) => {
    const rows = ['web1', 'web2'].map(
      (name) =>
        `{"name":"${name}","hostname":"h-${name}","port":${port},"username":"u","labels":{"group":"web"}}`,
    )
    await writeFile(join(home, 'records.jsonl'), rows.join('\n'))
    assert.equal((await runExecutable(['import', join(home, 'records.jsonl'), '--data', data])).code, 0)
  }
  await setPort(22)
  const run = (line: string, more = {}) => runLine(moved(line), { cwd: home, env: { ...env, ...more } })
  return { home, run, moved, setPort }
}

function inLanguage(heading: string, language: string): string[] {
  const blocks = blocksOf(readChapterNamed('recipes'))
  return blocks
    .filter((block) => block.heading === heading && block.language === language)
    .map(({ text }) => text)
}

describe('the recipes', () => {
  const [plain = '', fresh = ''] = inLanguage(SSH, 'text')

  it('let plain ssh find a record', { skip: missing('ssh') }, async (t) => {
    const { home, run, moved } = await prepare(t)
    const exported = await run(readBlock('recipes', 'bash', SSH))
    assert.equal(exported.code, 0, exported.output)
    await writeFile(join(home, '.ssh/config'), moved(plain))
    const { output } = await run('ssh -F ~/.ssh/config -G web1')
    assert.match(output, /^hostname h-web1$/m)
  })

  it('let ssh export again, once the file is a minute old', { skip: missing('ssh') }, async (t) => {
    const { home, run, moved, setPort } = await prepare(t)
    const file = join(home, '.ssh/connbook')
    await writeFile(join(home, '.ssh/config'), moved(fresh))
    const portNow = async (environment = {}) => {
      const { output } = await run('ssh -F ~/.ssh/config -G web1 2>&1', environment)
      return /^port (\d+)$/m.exec(output)?.[1] ?? output
    }
    const age = (minutes: number) => {
      const time = new Date(Date.now() - minutes * 60_000)
      return utimes(file, time, time)
    }
    assert.equal(await portNow(), '22')
    await setPort(2222)
    assert.equal(await portNow(), '22')
    await age(5)
    assert.equal(await portNow(), '2222')
    await age(5)
    const away = { CONNBOOK_DATA: join(home, 'missing') }
    assert.equal(await portNow(away), '2222')
  })

  it('give Ansible an inventory with its groups', { skip: missing('ansible-inventory') }, async (t) => {
    const { run } = await prepare(t)
    const { code, output } = await run(readBlock('recipes', 'bash', 'Ansible'))
    assert.equal(code, 0, output)
    assert.match(output, /hosts \(2\):\n\s+web1\n\s+web2\n/)
  })

  it('give Ansible an inventory that asks connbook', { skip: missing('ansible-inventory') }, async (t) => {
    const { run } = await prepare(t)
    const [first = ''] = readBlock('recipes', 'sh', 'Ansible').split('\n')
    assert.equal((await run(first)).code, 0)
    const { code, output } = await run('ansible -i ./inventory web --list-hosts')
    assert.equal(code, 0, output)
    assert.match(output, /hosts \(2\):\n\s+web1\n\s+web2\n/)
  })

  it('give Prometheus a configuration that it takes', { skip: missing('promtool') }, async (t) => {
    const { home, run } = await prepare(t)
    const secret = join(home, 'connbook.secret')
    await writeFile(secret, 'x')
    const config = readBlock('recipes', 'yaml', 'Prometheus').replace(
      '/etc/prometheus/connbook.secret',
      secret,
    )
    await writeFile(join(home, 'prometheus.yml'), config)
    const { code, output } = await run('promtool check config prometheus.yml')
    assert.equal(code, 0, output)
    assert.doesNotMatch(output, /WARNING/)
  })

  it('give cron a line that prints nothing but errors', async (t) => {
    const { home, run } = await prepare(t)
    const file = join(home, 'etc/ssh/ssh_config.d/connbook.conf')
    const [, schedule, user, command = ''] =
      /^((?:\S+ ){5})(\S+) (.*)\n$/.exec(readBlock('recipes', 'cron', 'Cron')) ?? []
    assert.deepEqual([schedule, user], ['*/5 * * * * ', 'root'])
    // In a crontab, cron reads it as the end of the line.
    assert.ok(!command.includes('%'))
    assert.equal((await run(readBlock('recipes', 'bash', 'Cron'))).code, 0)
    assert.equal((await run(command)).output, '')
    assert.match(await readFile(file, 'utf8'), /^Host web1$/m)
    assert.equal((await stat(file)).mode & 0o777, 0o644)
    const { output } = await run(command.replace('/var/lib/connbook', '~/missing'))
    assert.match(output, /^connbook: Cannot /)
  })
})
