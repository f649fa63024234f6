import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { parse } from 'node:path'
import { describe, it } from 'node:test'
import { PAGE_RECORDS_MAX } from '../../src/limits.ts'
import { runCommand } from '../support/command.ts'
import { createClient } from '../support/http-client.ts'
import { start } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { serveJson, serveOther } from './remote/other-server.ts'

describe('connbook completion', () => {
  it('gives words for every place of a line, and nothing where it does not know', async () => {
    const complete = async (...words: string[]) => {
      const { code, stdout, stderr } = await runCommand(['complete', 'zsh', '--', ...words])
      assert.deepEqual([code, stderr], [0, ''])
      return stdout.trimEnd().split('\n')
    }
    assert.deepEqual(await complete('l'), ['words', 'ls', 'login', 'logout'])
    assert.deepEqual(await complete('user', ''), ['words', 'add', 'passwd', 'set', 'remove', 'list'])
    assert.deepEqual(await complete('ls', '--sort', 'p'), ['words', 'port'])
    assert.deepEqual(await complete('ls', '--sort=-p'), ['words', '--sort=-port'])
    assert.deepEqual(await complete('completion', ''), ['words', 'bash', 'zsh', 'fish'])
    assert.deepEqual(await complete('help', 'sec'), ['words', 'security'])
    assert.deepEqual(await complete('import', ''), ['files'])
    assert.deepEqual(await complete('ls', '--ca', ''), ['files'])
    assert.deepEqual(await complete('ssh', 'web1', '-'), ['files'])
    assert.deepEqual(await complete('nothing', ''), ['words'])
    assert.deepEqual(await complete('ls', '--limit', ''), ['words'])
    assert.deepEqual(await complete('ls', '--no-retry', '--no'), ['words'])
    assert.deepEqual(await complete('--vers'), ['words', '--version'])
    assert.deepEqual(await complete('--tls-c'), ['words', '--tls-cert'])
    assert.deepEqual(await complete('help', 'user', 'p'), ['words', 'passwd'])
    assert.deepEqual(await complete('man', 'tro'), ['words', 'troubles'])
    assert.deepEqual(await complete('man', 'ls', ''), ['words'])
    assert.deepEqual(await complete('completion', 'bash', ''), ['words'])
    assert.deepEqual(await complete('check', '--data', 'x', ''), ['files'])
    assert.deepEqual(await complete('import', 'one', ''), ['words'])
  })

  const namesOf = async (server: string, words: readonly string[], environment = {}) => {
    const all = {
      CONNBOOK_SERVER: server,
      XDG_STATE_HOME: '/nonexistent',
      CONNBOOK_COMPLETION_MS: '20000',
      ...environment,
    }
    const { code, stdout, stderr } = await runCommand(['complete', 'zsh', '--', ...words], {
      environment: all,
    })
    assert.deepEqual([code, stderr], [0, ''])
    return stdout.trimEnd().split('\n').slice(1)
  }

  it('gives the names that a terminal shows as they are, and that are not flags', async (t) => {
    const names = ['-dash', 'a', 'bell\u0007', 'line\nbreak', 'right\u202eleft', 'z']
    const server = await serveJson(t, 200, { configurations: names.map((name) => ({ name })) })
    assert.deepEqual(await namesOf(server, ['get', '']), ['a', 'z'])
    assert.deepEqual(await namesOf(server, ['get', '--', '']), ['-dash', 'a', 'z'])
    assert.deepEqual(await namesOf(server, ['get', 'z']), ['z'])
  })

  it('gives keys of labels, with = where a value follows, and values of the key that is typed', async (t) => {
    const service = await start(t)
    const ask = createClient(service.url, { Authorization: await service.bearer() })
    const add = async (name: string, labels: object) => {
      const answer = await ask('POST', '/configurations/', { body: { ...draft(name), labels } })
      assert.equal(answer.status, 200)
    }
    await add('a', { env: 'prod', group: 'web,db', note: 'right\u202eleft', 'e/x': 'a=b' })
    await add('b', { env: 'two words', group: 'db' })
    const token = (await service.bearer()).replace('Bearer ', '')
    const wordsOf = (...words: string[]) => namesOf(service.url, words, { CONNBOOK_TOKEN: token })
    assert.deepEqual(await wordsOf('ls', '--label', ''), ['env=', 'group=', 'e/x=', 'note='])
    assert.deepEqual(await wordsOf('ls', '--label', 'e'), ['env=', 'e/x='])
    assert.deepEqual(await wordsOf('ls', '--label=e'), ['--label=env=', '--label=e/x='])
    assert.deepEqual(await wordsOf('watch', '--label', '!e'), ['!env', '!e/x'])
    assert.deepEqual(await wordsOf('ls', '--label', 'env='), ['env=prod', 'env=two words'])
    assert.deepEqual(await wordsOf('ls', '--label', 'env!=p'), ['env!=prod'])
    assert.deepEqual(await wordsOf('ls', '--label=group=d'), ['--label=group=db'])
    assert.deepEqual(await wordsOf('ls', '--label', 'e/x=a='), ['e/x=a=b'])
    assert.deepEqual(await wordsOf('ls', '--label', 'note='), [])
    assert.deepEqual(await wordsOf('ls', '--label', 'absent='), [])
    assert.deepEqual(await wordsOf('ls', '--label', 'A='), [])
    assert.deepEqual(await wordsOf('set', 'a', '--label', 'g'), ['group='])
    assert.deepEqual(await wordsOf('add', 'c', '--label', 'env=p'), ['env=prod'])
    assert.deepEqual(await wordsOf('set', 'a', '--label', '!e'), [])
    assert.deepEqual(await wordsOf('set', 'a', '--label', 'env!='), [])
    assert.deepEqual(await wordsOf('set', 'a', '--no-label', 'e'), ['env', 'e/x'])
  })

  it('gives no labels when the answer is not that of a connbook', async (t) => {
    for (const body of [
      {},
      { labels: 1 },
      { labels: [1, {}, { key: 'a' }, { key: 'a', values: [1, {}] }] },
    ]) {
      const server = await serveJson(t, 200, body)
      assert.deepEqual(await namesOf(server, ['ls', '--label', 'a=']), [])
    }
  })

  it('asks the server of a folder in the home', async (t) => {
    const folder = await temporaryFolder(t)
    const service = await start(t, { folder })
    const ask = createClient(service.url, { Authorization: await service.bearer() })
    assert.equal((await ask('POST', '/configurations/', { body: draft('web1') })).status, 200)
    const { dir, base } = parse(folder)
    const words = ['complete', 'zsh', '--', 'get', '--data', `~/${base}`, 'w']
    assert.equal((await runCommand(words, { environment: { HOME: dir } })).stdout, 'words\nweb1\n')
  })

  it('gives no name alone when there are others that it has not asked for', async (t) => {
    const names = Array.from({ length: PAGE_RECORDS_MAX }, (_, i) => `-${i}`)
    const server = await serveOther(t, (request, response) => {
      const found = request.url?.includes('sort=-name') ? ['z'] : names
      response.end(JSON.stringify({ configurations: found.map((name) => ({ name })) }))
    })
    assert.deepEqual(await namesOf(server, ['get', '']), [])
    assert.equal((await namesOf(server, ['get', '--', ''])).length, PAGE_RECORDS_MAX + 1)
  })

  for (const [whom, environment] of Object.entries({
    'a caller with a token': { CONNBOOK_COMPLETION_MS: '', CONNBOOK_TOKEN: 'token' },
    'a client, which needs a token': {
      CONNBOOK_COMPLETION_MS: '50',
      CONNBOOK_LOGIN_CLIENT_ID: 'script',
      CONNBOOK_LOGIN_CLIENT_SECRET: 'secret',
    },
  })) {
    it(`does not wait for a server that is silent to ${whom}`, async (t) => {
      const server = await serveOther(t, () => {})
      assert.deepEqual(await namesOf(server, ['get', ''], environment), [])
    })
  }
})
