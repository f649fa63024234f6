import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { executable, startExecutable } from '../support/executable.ts'
import { sendRaw } from '../support/raw-http.ts'
import { usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { LONG_PATH, MANY, startBehind, startUnread } from './logged-server.ts'

interface Line {
  readonly level: string
  readonly event: string
  readonly count?: number
  readonly request_id?: string
  readonly reason?: string
}

/** The size limit that the test sets for a file. */
const FULL_BYTES = 4096

function linesOf(text: string): Line[] {
  const lines = text.split('\n')
  assert.equal(lines.pop(), '', 'the last line is not whole')
  return lines.map((line) => JSON.parse(line) as Line)
}

describe('the log of a server', () => {
  it('delays no request while nobody reads it, and reports lost lines to a reader that returns', async (t) => {
    const { child, exited, ask, askMany } = await startBehind(t, 'exec "$0" "$@"')
    await askMany()
    let text = ''
    child.stderr
      .setEncoding('utf8')
      .on('data', (chunk: string) => (text += chunk))
      .resume()
    await eventually('it tells', () => text.includes('log_lines_dropped'))
    assert.equal(await ask('/healthz', 'last'), 200)
    const closed = once(child, 'close')
    child.kill('SIGTERM')
    assert.deepEqual(await exited, [0, null])
    await closed

    const lines = linesOf(text)
    const told = lines.findIndex(({ event }) => event === 'log_lines_dropped')
    assert.equal(lines[told]?.level, 'error')
    const requests = (some: readonly Line[]) => some.filter(({ request_id }) => request_id?.startsWith('r'))
    assert.deepEqual(requests(lines.slice(told)), [])
    assert.equal(requests(lines).length + (lines[told]?.count ?? 0), MANY)
    assert.equal(lines.filter(({ event }) => event === 'log_lines_dropped').length, 1)
    assert.equal(lines.filter(({ request_id }) => request_id === 'last').length, 1)
    assert.equal(lines.at(-1)?.event, 'stopped')
  })

  it('that nobody ever reads does not keep the server from its exit', async (t) => {
    const { askMany, stop } = await startUnread(t)
    await askMany()
    await stop()
  })

  it('may be closed by its reader', async (t) => {
    const { child, askMany, ask, stop } = await startBehind(t, 'exec "$0" "$@"')
    child.stderr.destroy()
    await askMany()
    assert.equal(await ask('/healthz', 'last'), 200)
    await stop()
  })

  it('goes to a file in order, up to the last line', async (t) => {
    const file = join(await temporaryFolder(t), 'log')
    const { askMany, stop } = await startBehind(t, `exec "$0" "$@" 2>> ${file}`)
    await askMany()
    await stop()
    const lines = linesOf(await readFile(file, 'utf8'))
    const requests = lines.flatMap(({ request_id }, i) => (request_id?.startsWith('r') ? [i] : []))
    assert.equal(requests.length, MANY)
    assert.ok(lines.findIndex(({ event }) => event === 'listening') < Number(requests[0]))
    assert.equal(lines.at(-1)?.event, 'stopped')
  })

  it('reports how many lines a full disk has lost, once there is room', async (t) => {
    const file = join(await temporaryFolder(t), 'log')
    const script = `ulimit -f ${FULL_BYTES / 1024}; exec "$0" "$@" 2>> ${file}`
    const { ask, stop } = await startBehind(t, script)
    for (let i = 0; i < 3; i += 1) assert.equal(await ask(LONG_PATH, `r${i}`), 403)
    await eventually('it tells', async () => {
      // A write in progress may have filled it again.
      if ((await stat(file)).size === FULL_BYTES) await writeFile(file, '')
      assert.equal(await ask('/healthz', 'last'), 200)
      return /"event":"log_lines_dropped","count":(?:[3-9]|\d{2,})\b/.test(await readFile(file, 'utf8'))
    })
    await stop()
    assert.equal(linesOf(await readFile(file, 'utf8')).at(-1)?.event, 'stopped')
  })

  it('has been written when an error ends the start', async (t) => {
    const folder = await usedFolder(t)
    const file = join(await temporaryFolder(t), 'log')
    const first = await startExecutable(t, ['--data', folder])
    const { port } = new URL(first.url)
    // The address is taken: the log of the start comes before the error.
    const other = await usedFolder(t)
    const script = `ulimit -n 60; exec "$0" "$@" 2>> ${file}`
    const args = ['--host', '127.0.0.1', '--port', port, '--data', other]
    const child = spawn('/bin/bash', ['--norc', '-c', script, executable, ...args], { stdio: 'ignore' })
    assert.deepEqual(await once(child, 'exit'), [1, null])
    const [line = '', error] = (await readFile(file, 'utf8')).split('\n')
    assert.equal((JSON.parse(line) as Line).event, 'connections_limited')
    assert.match(error ?? '', /^connbook: Cannot listen on 127\.0\.0\.1:/)
  })

  it('is complete when an uncaught error ends the process, in a file and in a pipe', async (t) => {
    const source = new URL('../../src/service/server-log.ts', import.meta.url)
    const program = `
      import { openServerLog } from '${source}'
      const log = openServerLog({ logFormat: 'json', logLevel: 'info' }, {})
      for (let i = 0; i < 3; i += 1) log.info('event', { count: i })
      throw new Error('nobody caught this')`
    const file = join(await temporaryFolder(t), 'log')
    const script = `"$0" "$@" 2>> ${file}; "$0" "$@" 2>&1 | cat >> ${file}`
    const args = [
      '--norc',
      '-c',
      script,
      process.execPath,
      '--import',
      'tsx',
      '--input-type=module',
      '-e',
      program,
    ]
    assert.deepEqual(await once(spawn('/bin/bash', args, { stdio: 'ignore' }), 'exit'), [0, null])
    const text = await readFile(file, 'utf8')
    const counts = Array.from(text.matchAll(/^\{"time".*"count":(\d)\}$/gm), ([, count]) => Number(count))
    // In a file, a line whose write was in progress may come last.
    assert.deepEqual(counts.slice(0, 3).toSorted(), [0, 1, 2])
    assert.deepEqual(counts.slice(3), [0, 1, 2])
  })

  it('begins each line with its priority when standard error is the journal, and only then', async (t) => {
    const folder = await temporaryFolder(t)
    for (const [i, [stream, start]] of [
      ['$(stat --dereference --format %d:%i /proc/self/fd/2)', '<6>{"time":'],
      ['1:2', '{"time":'],
    ].entries()) {
      const file = join(folder, `log ${i}`)
      const script = `exec 2>> "${file}"; JOURNAL_STREAM=${stream} exec "$0" "$@"`
      const { child, exited } = await startBehind(t, script)
      child.kill('SIGTERM')
      await exited
      const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
      assert.ok(lines.length > 3)
      for (const line of lines) assert.ok(line.startsWith(start ?? ''), line)
    }
  })

  it('has an error that ends the program as an error in the journal, each of its lines', async (t) => {
    const folder = await temporaryFolder(t)
    const file = join(folder, 'log')
    const script = `exec 2>> "${file}"; JOURNAL_STREAM=$(stat --dereference --format %d:%i /proc/self/fd/2) exec "$0" "$@"`
    for (const args of [
      ['--hots', '127.0.0.1'],
      ['import', '/dev/null', '--format', 'csv', '--data', join(folder, 'data')],
    ]) {
      const child = spawn('/bin/bash', ['--norc', '-c', script, executable, ...args], { stdio: 'ignore' })
      await once(child, 'exit')
    }
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
    assert.ok(lines.length > 2)
    for (const line of lines) assert.match(line, /^<3>(connbook: | {2})/)
  })

  it('has the levels that --log-level selects', async (t) => {
    const eventsAt = async (level: string) => {
      const file = join(await temporaryFolder(t), 'log')
      const { url, stop } = await startBehind(t, `exec "$0" "$@" 2>> ${file}`, '--log-level', level)
      assert.match(await sendRaw(url, 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 /)
      await stop()
      return linesOf(await readFile(file, 'utf8')).map(({ event }) => event)
    }
    const [error = [], info = [], debug = []] = await Promise.all(['error', 'info', 'debug'].map(eventsAt))
    assert.deepEqual(error, [])
    assert.ok(info.includes('request') && !info.includes('malformed_request'))
    assert.ok(debug.includes('request') && debug.includes('malformed_request'))
  })
})
