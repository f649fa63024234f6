import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { readBlock } from '../manual/published.ts'
import { getToken } from '../support/api.ts'
import { missing } from '../support/debian.ts'
import { eventually } from '../support/eventually.ts'
import { runExecutable, startExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { client, usedFolder } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { type Lifetime, temporaryFolder } from '../support/temporary-folder.ts'

/** The answer of Prometheus' HTTP API for an expression with one value. */
interface QueryAnswer {
  readonly data: { readonly result: readonly { readonly value: readonly [number, string] }[] }
}

/** What `GET /api/v1/targets` answers. */
interface TargetsAnswer {
  readonly data: {
    readonly activeTargets: readonly {
      readonly labels: Readonly<Record<string, string>>
      readonly discoveredLabels: Readonly<Record<string, string>>
    }[]
  }
}

function replaceOnce(text: string, published: string, instead: string): string {
  assert.equal(text.split(published).length, 2, `"${published}" does not stand there once`)
  return text.replace(published, () => instead)
}

/** @param shown The output of the command that made the secret. */
async function keepSecret(shown: string, file: string): Promise<void> {
  const secret = /^client_secret: (\S+)$/m.exec(shown)?.[1] ?? assert.fail(shown)
  await writeFile(file, `${secret}\n`, { mode: 0o600 })
}

/** Starts a Prometheus for the test, and stops it when the test ends. It scrapes nothing in its first five seconds. */
async function startPrometheus(t: Lifetime, scrapeConfigs: string) {
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'storage'))
  await writeFile(join(folder, 'prometheus.yml'), `global:\n  scrape_interval: 100ms\n${scrapeConfigs}`)
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'storage')}`,
      '--web.listen-address=127.0.0.1:0',
    ],
    { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const exited = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const findAddress = () => {
    if (child.exitCode !== null) assert.fail(`Prometheus could not start: ${stderr}`)
    return /msg="Listening on" address=(\S+)/.exec(stderr)?.[1]
  }
  await eventually('Prometheus listens', () => findAddress() !== undefined)
  const address = findAddress()
  return {
    stderr: () => stderr,
    /** The labels of the targets that it would scrape, by name; undefined while it does not answer. */
    async findTargets(): Promise<Readonly<Record<string, Readonly<Record<string, string>>>> | undefined> {
      const answer = await fetch(`http://${address}/api/v1/targets?state=active`).catch(() => undefined)
      if (answer?.status !== 200) return undefined
      const { data } = (await answer.json()) as TargetsAnswer
      return Object.fromEntries(
        data.activeTargets.map((target) => [target.labels.instance ?? '', target.discoveredLabels]),
      )
    },
    /** Undefined while Prometheus does not answer or has no value. */
    async query(expression: string): Promise<string | undefined> {
      const url = `http://${address}/api/v1/query?query=${encodeURIComponent(expression)}`
      const answer = await fetch(url).catch(() => undefined)
      if (answer?.status !== 200) return undefined
      return ((await answer.json()) as QueryAnswer).data.result[0]?.value[1]
    },
  }
}

describe('the metrics of the executable', () => {
  it('pass the checks of promtool', { skip: missing('promtool') }, async (t) => {
    const folder = await usedFolder(t)
    const { url } = await startExecutable(t, ['--data', folder])
    const ask = createClient(url, await getToken(url, client))
    await ask('POST', '/configurations/', { body: draft('a') })
    await ask('GET', '/nowhere')
    const { status, text } = await ask('GET', '/metrics')
    assert.equal(status, 200)
    const checking = promisify(execFile)('promtool', ['check', 'metrics'])
    checking.child.stdin?.end(text)
    const { stdout, stderr } = await checking
    assert.deepEqual([stdout, stderr], ['', ''])
  })

  it('are scraped by Prometheus with a token of its own', { skip: missing('prometheus') }, async (t) => {
    const folder = await usedFolder(t)
    const server = await startExecutable(t, ['--data', folder])
    const { host } = new URL(server.url)
    const line = /^connbook client add prometheus .*$/m.exec(readBlock('metrics', 'sh', 'Prometheus'))?.[0]
    const [name = '', ...args] = line?.split(' ') ?? []
    assert.equal(name, 'connbook')
    const { code, stdout, stderr } = await runExecutable([...args, '--data', folder])
    assert.equal(code, 0, stderr)
    const secretFile = join(await temporaryFolder(t), 'connbook.secret')
    await keepSecret(stdout, secretFile)

    let configs = readBlock('metrics', 'yaml', 'Prometheus')
    configs = replaceOnce(configs, '/etc/prometheus/connbook.secret', secretFile)
    configs = replaceOnce(configs, 'http://localhost:8080/', `http://${host}/`)
    configs = replaceOnce(configs, "['localhost:8080']", `['${host}']`)
    const prometheus = await startPrometheus(t, configs)
    t.after(() => {
      if (!t.passed) t.diagnostic(`${prometheus.stderr()}\n${server.stderr()}`)
    })
    const untilUpIs = (value: '0' | '1') =>
      eventually(`up is ${value}`, async () => (await prometheus.query('up{job="connbook"}')) === value)
    await untilUpIs('1')
    assert.equal(await prometheus.query('connbook_records'), '0')
    assert.equal(await prometheus.query('connbook_logins_total{kind="client",outcome="ok"}'), '1')
    assert.equal(await prometheus.query('count(connbook_build_info)'), '1')

    // What the manual says about an expired token.
    assert.equal((await runExecutable(['keys', 'revoke-all', '--data', folder])).code, 0)
    await untilUpIs('0')
    await keepSecret(
      (await runExecutable(['client', 'rotate', 'prometheus', '--data', folder])).stdout,
      secretFile,
    )
    await untilUpIs('1')
  })
})

describe('the targets of Prometheus', () => {
  it('are the records that the filters of its URL keep', { skip: missing('prometheus') }, async (t) => {
    const folder = await usedFolder(t)
    const { url } = await startExecutable(t, ['--data', folder])
    const added = await runExecutable(['client', 'add', 'prometheus', '--read-only', '--data', folder])
    const secretFile = join(await temporaryFolder(t), 'connbook.secret')
    await keepSecret(added.stdout, secretFile)
    const ask = createClient(url, await getToken(url, client))
    const add = (name: string, fields: object) =>
      ask('POST', '/configurations/', { body: draft(name, fields) })
    await add('web1', { hostname: '2001:db8::1', labels: { group: 'web', 'cost.center': 'é "x"' } })
    await add('db1', { labels: { group: 'db' } })
    let configs = readBlock('recipes', 'yaml', 'Prometheus')
    configs = replaceOnce(configs, '/etc/prometheus/connbook.secret', secretFile)
    configs = configs.replaceAll('http://localhost:8080/', `${url}/`)
    configs = replaceOnce(configs, '        oauth2:', '        refresh_interval: 200ms\n        oauth2:')
    const prometheus = await startPrometheus(t, configs)
    t.after(() => {
      if (!t.passed) t.diagnostic(prometheus.stderr())
    })
    const untilTargets = (names: readonly string[]) =>
      eventually(`the targets are ${names}`, async () => {
        const targets = (await prometheus.findTargets()) ?? {}
        return Object.keys(targets).sort().join() === names.join()
      })
    await untilTargets(['web1'])
    const { web1 = {} } = (await prometheus.findTargets()) ?? {}
    assert.match(web1.__address__ ?? '', /^\[2001:db8::1\]:\d+$/)
    assert.equal(web1.__meta_connbook_label_group, 'web')
    assert.equal(web1.__meta_connbook_label_cost_center, 'é "x"')
    await add('web2', { labels: { group: 'web' } })
    await untilTargets(['web1', 'web2'])
  })
})
