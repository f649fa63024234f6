import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { EtcdError, type EtcdReason } from '../../src/cluster/etcd-error.ts'
import { ETCD_ATTEMPT_MS, type EtcdPass, openGateway, type PassSource } from '../../src/cluster/gateway.ts'
import type { WatchMessage } from '../../src/cluster/messages.ts'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { holdTimers } from '../support/held-timers.ts'
import { refuse, type ScriptedEtcd, startScriptedEtcd } from './scripted-etcd.ts'
import { fixedPass } from './support/fixed-pass.ts'

const FINE = '{"header":{"revision":"5"},"succeeded":true}'
const nothing = { compare: [], success: [], failure: [] }
const login = { user: 'connbook', password: 'secret' }

function open(t: TestContext, members: readonly (ScriptedEtcd | string)[], pass: Partial<EtcdPass> = {}) {
  const endpoints = members.map((member) => (typeof member === 'string' ? member : member.url))
  const gateway = openGateway({ endpoints, source: fixedPass(pass) })
  t.after(() => gateway.close())
  return gateway
}

function failsWith(reason: EtcdReason, isUndone: boolean, words = /./) {
  return (error: unknown) => {
    assert.ok(error instanceof EtcdError, String(error))
    assert.deepEqual([error.reason, error.isUndone], [reason, isUndone], error.message)
    assert.match(error.words, words)
    return true
  }
}

/** An address where nobody listens. */
async function deadUrl(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`
}

describe('a call to etcd', () => {
  it('keeps its connection, and says what etcd has to know', async (t) => {
    const member = await startScriptedEtcd(t, (_call, response) => void response.end(FINE))
    const gateway = open(t, [member])
    for (let i = 0; i < 3; i++) assert.equal((await gateway.transact(nothing)).revision, 5)
    await gateway.grantLease(7).catch(() => {})
    assert.equal(member.connections, 1)
    const [call] = member.calls
    const {
      host,
      'content-type': type,
      'grpc-metadata-hasleader': leader,
      authorization,
    } = call?.headers ?? {}
    assert.deepEqual([`http://${host}`, type, leader], [member.url, 'application/json', 'true'])
    assert.equal(authorization, undefined)
    assert.deepEqual(
      member.calls.map(({ path }) => path),
      ['/v3/kv/txn', '/v3/kv/txn', '/v3/kv/txn', '/v3/lease/grant'],
    )
  })

  it('reads an answer that arrives byte by byte', async (t) => {
    const member = await startScriptedEtcd(t, async (_call, response) => {
      for (const byte of Buffer.from('{"kvs":[{"key":"L2E=","value":"w7w="}],"count":"1"}'))
        await new Promise((resolve) => response.write(Buffer.of(byte), resolve))
      response.end()
    })
    const { kvs } = await open(t, [member]).range({ key: '/a' })
    assert.deepEqual(
      kvs.map(({ key, value }) => [key, value]),
      [['/a', 'ü']],
    )
  })

  it('goes on at the next member when a change was certainly not done', async (t) => {
    const away = await startScriptedEtcd(t, (_call, response) =>
      refuse(response, 503, 'etcdserver: no leader', 14),
    )
    const member = await startScriptedEtcd(t, (_call, response) => void response.end(FINE))
    const gateway = open(t, [await deadUrl(), away, member])
    assert.equal((await gateway.transact(nothing)).succeeded, true)
    assert.equal(gateway.endpoint, member.url)
    assert.deepEqual([away.calls.length, member.calls.length], [1, 1])
  })

  it('goes on at the next member when one has no TLS', async (t) => {
    const member = await startScriptedEtcd(t, (_call, response) => void response.end(FINE))
    const gateway = open(t, [member.url.replace('http:', 'https:'), member])
    assert.equal((await gateway.transact(nothing)).succeeded, true)
    const hopeless = open(t, [member.url.replace('http:', 'https:')])
    await assert.rejects(hopeless.range({ key: '/a' }), failsWith('tls', true, /^wrong version number$/))
  })

  it('does not repeat a change that may have been done, but turns to the next member', async (t) => {
    const tick = holdTimers(t)
    const broken: [ScriptedEtcd['answer'], EtcdReason][] = [
      [(_call, response) => void response.socket?.destroy(), 'unreachable'],
      [
        (_call, response) => {
          response.writeHead(200, { 'content-length': 100 })
          response.write('{"header":', () => response.socket?.destroy())
        },
        'unreachable',
      ],
      [(_call, response) => refuse(response, 503, 'etcdserver: request timed out', 14), 'unavailable'],
      [() => {}, 'timed_out'],
    ]
    for (const [answer, reason] of broken) {
      const member = await startScriptedEtcd(t, answer)
      const next = await startScriptedEtcd(t, (_call, response) => void response.end(FINE))
      const gateway = open(t, [member, next])
      const refused = assert.rejects(gateway.transact(nothing), failsWith(reason, false))
      await called(member)
      // Only the silent member is given up.
      if (reason === 'timed_out') tick(ETCD_ATTEMPT_MS)
      await refused
      assert.deepEqual([member.calls.length, next.calls.length, gateway.endpoint], [1, 0, next.url])
      assert.equal((await gateway.transact(nothing)).succeeded, true)
    }
  })

  it('reads from each member in turn, until one answers', async (t) => {
    const tick = holdTimers(t)
    const silent = await startScriptedEtcd(t, () => {})
    const broken = await startScriptedEtcd(t, (_call, response) => void response.socket?.destroy())
    const member = await startScriptedEtcd(t, (_call, response) => void response.end('{"count":"3"}'))
    const answer = open(t, [silent, broken, member]).range({ key: '/a' }, { attemptMs: 50 })
    await called(silent)
    tick(50)
    assert.equal((await answer).count, 3)
    const hopeless = open(t, [await deadUrl(), silent]).range({ key: '/a' }, { attemptMs: 50 })
    const refused = assert.rejects(hopeless, failsWith('timed_out', false))
    await called(silent, 2)
    tick(50)
    await refused
    const dead = open(t, [await deadUrl()])
    await assert.rejects(dead.transact(nothing), failsWith('unreachable', true, /ECONNREFUSED/))
  })

  it('lets an answer take longer than an attempt while it arrives', async (t) => {
    const tick = holdRefreshedTimers(t)
    const member = await startScriptedEtcd(t, async (_call, response) => {
      const pieces = ['{"', 'cou', 'nt"', ':', '"4"}']
      for (const piece of pieces) {
        await write(response, piece)
        tick(40)
      }
      response.end()
    })
    const gateway = open(t, [member])
    assert.equal((await gateway.range({ key: '/a' }, { attemptMs: 50 })).count, 4)
    member.answer = async (_call, response) => {
      await write(response, '{"cou')
      tick(50)
    }
    await assert.rejects(
      gateway.range({ key: '/a' }, { attemptMs: 50 }),
      failsWith('timed_out', false, /^no answer within 50 ms$/),
    )
  })

  it('ends with its signal, in whatever state it is', async (t) => {
    const member = await startScriptedEtcd(t, () => {})
    const gateway = open(t, [member])
    const [reason, controller] = [new Error('enough'), new AbortController()]
    const call = gateway.range({ key: '/a' }, { signal: controller.signal })
    controller.abort(reason)
    await assert.rejects(call, reason)
    await assert.rejects(gateway.range({ key: '/a' }, { signal: controller.signal }), reason)
    const later = new AbortController()
    member.answer = (_call, response) => void response.write('{', () => later.abort(reason))
    await assert.rejects(gateway.range({ key: '/a' }, { signal: later.signal }), reason)
  })

  it('is refused when the answer makes no sense, and nobody knows then what was done', async (t) => {
    const member = await startScriptedEtcd(t, () => {})
    const gateway = open(t, [member])
    for (const answer of ['', 'Secret', '[]', '{"header":{"revision":"x"}}', '{"header":']) {
      member.answer = (_call, response) => void response.end(answer)
      await assert.rejects(gateway.transact(nothing), failsWith('unexpected', false, /^(?!.*Secret)/))
    }
  })

  it('is refused for a certificate with a CommonName, which etcd says in plain text', async (t) => {
    const words =
      'CommonName of client sending a request against gateway will be ignored and not used as expected'
    const member = await startScriptedEtcd(t, (_call, response) => {
      response.writeHead(400, { 'content-type': 'text/plain; charset=utf-8' }).end(`${words}\n`)
    })
    const gateway = open(t, [member])
    await assert.rejects(gateway.transact(nothing), failsWith('common_name', true, /CommonName/))
    await assert.rejects(
      async () => {
        for await (const _ of gateway.watch(watched())) assert.fail()
      },
      failsWith('common_name', true, /CommonName/),
    )
  })

  it('is not made any more once the gateway is closed', async (t) => {
    const member = await startScriptedEtcd(t, () => {})
    const gateway = open(t, [member])
    const call = gateway.transact(nothing)
    await called(member)
    gateway.close()
    await assert.rejects(call, failsWith('unreachable', false))
    await assert.rejects(gateway.range({ key: '/a' }), /^Error: the gateway is closed$/)
    await assert.rejects(gateway.watch(watched())[Symbol.asyncIterator]().next(), /the gateway is closed/)
  })
})

describe('a login at etcd', () => {
  /** Gives tokens in turn, and takes only the last one. */
  async function startGuarded(t: TestContext) {
    let tokens = 0
    const guarded = await startScriptedEtcd(t, ({ path, headers }, response) => {
      if (path === '/v3/auth/authenticate') return void response.end(`{"token":"token.${++tokens}"}`)
      if (headers.authorization === `token.${tokens}`) return void response.end(FINE)
      return refuse(response, 401, 'etcdserver: invalid auth token', 16)
    })
    return { guarded, expire: () => void tokens++ }
  }

  const logins = ({ calls }: ScriptedEtcd) =>
    calls.filter(({ path }) => path === '/v3/auth/authenticate').length

  it('is made once for all calls, and once again when the token has expired', async (t) => {
    const { guarded, expire } = await startGuarded(t)
    const gateway = open(t, [guarded], { login })
    await Promise.all(Array.from({ length: 10 }, () => gateway.transact(nothing)))
    assert.deepEqual(JSON.parse(guarded.calls[0]?.body ?? ''), { name: 'connbook', password: 'secret' })
    assert.equal(logins(guarded), 1)
    expire()
    await Promise.all(Array.from({ length: 10 }, () => gateway.transact(nothing)))
    assert.equal(logins(guarded), 2)
  })

  for (const refusal of [
    [401, 'etcdserver: invalid auth token', 16],
    [403, 'etcdserver: permission denied', 7],
  ] as const)
    it(`is not made anew for a call that was refused late, with the token before: ${refusal[1]}`, async (t) => {
      const { guarded, expire } = await startGuarded(t)
      const gateway = open(t, [guarded], { login })
      await gateway.transact(nothing)
      const answer = guarded.answer
      const late = Promise.withResolvers<void>()
      let calls = 0
      guarded.answer = async (call, response) => {
        if (calls++ > 0) return answer(call, response)
        await late.promise
        const [status, message, code] = refusal
        return refuse(response, status, message, code)
      }
      expire()
      const first = gateway.transact(nothing)
      await gateway.transact(nothing)
      late.resolve()
      await first
      assert.equal(logins(guarded), 2)
    })

  it('is made anew for each word of etcd that means it', async (t) => {
    for (const [status, message, code] of [
      [400, 'etcdserver: user name is empty', 3],
      [400, 'etcdserver: revision of auth store is old', 3],
      [401, 'etcdserver: invalid auth token', 16],
    ] as const) {
      let isLoggedIn = false
      const member = await startScriptedEtcd(t, ({ path }, response) => {
        if (path === '/v3/auth/authenticate') response.end('{"token":"t"}')
        else if (isLoggedIn) response.end(FINE)
        else refuse(response, status, message, code)
        isLoggedIn ||= path !== '/v3/auth/authenticate'
      })
      await open(t, [member], { login }).transact(nothing)
      assert.equal(logins(member), 2, message)
    }
  })

  it('is made with another password once there is one, for calls and watches', async (t) => {
    let valid = 'secret'
    const member = await startScriptedEtcd(t, ({ path, body, headers }, response) => {
      if (path === '/v3/auth/authenticate')
        if (JSON.parse(body).password === valid) response.end(JSON.stringify({ token: valid }))
        else refuse(response, 400, 'etcdserver: authentication failed, invalid user ID or password', 3)
      else if (headers.authorization !== valid) refuse(response, 401, 'etcdserver: invalid auth token', 16)
      else
        response.end(path === '/v3/watch' ? '{"result":{"header":{"revision":"5"},"created":true}}\n' : FINE)
    })
    const written = { login }
    let looks = 0
    const source: PassSource & { pass: EtcdPass } = {
      pass: { tls: {}, login },
      renew() {
        looks += 1
        if (written.login !== source.pass.login) source.pass = { tls: {}, login: written.login }
      },
    }
    const gateway = openGateway({ endpoints: [member.url], source })
    t.after(() => gateway.close())
    await gateway.transact(nothing)
    assert.equal(looks, 0)

    valid = 'renewed'
    const refused = failsWith('login_failed', true, /authentication failed/)
    await assert.rejects(gateway.transact(nothing), refused)
    await assert.rejects(gateway.transact(nothing), refused)
    assert.equal(looks, 1, 'twice within a moment')

    written.login = { ...login, password: 'renewed' }
    source.renew()
    const signal = AbortSignal.timeout(60_000)
    const watch = gateway.watch({ key: '/', end: '0', fromRevision: 1, signal })[Symbol.asyncIterator]()
    assert.equal((await watch.next()).value?.kind, 'created')
    await Promise.all(Array.from({ length: 5 }, () => gateway.transact(nothing)))

    // A call in flight finds out by itself.
    valid = 'renewed again'
    written.login = { ...login, password: valid }
    await eventually('it looks again', () =>
      gateway.transact(nothing).then(
        () => true,
        () => false,
      ),
    )
  })

  it('is not needed while authentication is off, and is made when it is on again', async (t) => {
    let isOn = false
    const member = await startScriptedEtcd(t, ({ path, headers }, response) => {
      const isLogin = path === '/v3/auth/authenticate'
      if (!isOn && isLogin) refuse(response, 412, 'etcdserver: authentication is not enabled', 9)
      else if (!isOn && headers.authorization) refuse(response, 401, 'etcdserver: invalid auth token', 16)
      else if (isLogin) response.end('{"token":"t"}')
      // So etcd says it to a client with a certificate.
      else if (isOn && !headers.authorization) refuse(response, 403, 'etcdserver: permission denied', 7)
      else response.end(FINE)
    })
    const gateway = open(t, [member], { login })
    await gateway.transact(nothing)
    await gateway.transact(nothing)
    assert.equal(logins(member), 1)
    isOn = true
    await gateway.transact(nothing)
    assert.equal(logins(member), 2)
    isOn = false
    await gateway.transact(nothing)
    assert.equal(member.calls.at(-1)?.headers.authorization, undefined)
  })

  it('that fails is not repeated at once, and what it was for has not been sent', async (t) => {
    const member = await startScriptedEtcd(t, (_call, response) =>
      refuse(response, 400, 'etcdserver: authentication failed, invalid user ID or password', 3),
    )
    const gateway = open(t, [member], { login })
    for (let i = 0; i < 5; i++)
      await assert.rejects(
        gateway.transact(nothing),
        failsWith('login_failed', true, /authentication failed/),
      )
    assert.deepEqual(
      member.calls.map(({ path }) => path),
      ['/v3/auth/authenticate'],
    )
  })

  it('that gets no answer leads to the next member; the change is certainly not done', async (t) => {
    const broken = await startScriptedEtcd(t, (_call, response) => void response.socket?.destroy())
    const { guarded } = await startGuarded(t)
    const gateway = open(t, [broken, guarded], { login })
    assert.equal((await gateway.transact(nothing)).succeeded, true)
    const hopeless = open(t, [broken], { login })
    await assert.rejects(hopeless.transact(nothing), failsWith('unreachable', true))
  })

  it('is missing, if etcd denies what came without one', async (t) => {
    const member = await startScriptedEtcd(t, (_call, response) =>
      refuse(response, 403, 'etcdserver: permission denied', 7),
    )
    await assert.rejects(open(t, [member]).transact(nothing), failsWith('login_failed', true, /denied/))
  })

  it('does not help a user who may not', async (t) => {
    const member = await startScriptedEtcd(t, ({ path }, response) => {
      if (path === '/v3/auth/authenticate') response.end('{"token":"t"}')
      else refuse(response, 403, 'etcdserver: permission denied', 7)
    })
    const gateway = open(t, [member], { login })
    for (let i = 0; i < 3; i++) await assert.rejects(gateway.transact(nothing), failsWith('denied', true))
    assert.equal(logins(member), 1)
  })

  it('is made anew when a watch is denied, unless the last one was just now', async (t) => {
    const { guarded } = await startGuarded(t)
    const answer = guarded.answer
    let deniedToken = 'token.1'
    guarded.answer = (call, response) => {
      if (call.path !== '/v3/watch') return answer(call, response)
      const isDenied = call.headers.authorization === deniedToken
      // So some versions say that the token has expired.
      const denial = { created: true, canceled: true, cancel_reason: 'etcdserver: permission denied' }
      return writeLine(response, { result: isDenied ? denial : { created: true } })
    }
    const gateway = open(t, [guarded], { login })
    const begin = async () => {
      const watch = gateway.watch(watched())[Symbol.asyncIterator]()
      const { value } = await watch.next()
      await watch.return?.()
      return value
    }
    await assert.rejects(begin(), failsWith('denied', true))
    const now = performance.now()
    t.mock.method(performance, 'now', () => now + 2_000)
    assert.deepEqual(await begin(), { kind: 'created', revision: 0 })
    assert.equal(logins(guarded), 2)
    deniedToken = 'token.2'
    await assert.rejects(begin(), failsWith('denied', true))
    assert.equal(logins(guarded), 2)
  })
})

function watched(signal = new AbortController().signal) {
  return { key: '/a', end: '/b', fromRevision: 7, signal }
}

describe('a watch', () => {
  const event = (revision: number) => ({ kv: { key: 'L2E=', mod_revision: String(revision) } })
  const messages = [
    { result: { header: { revision: '6' }, created: true } },
    { result: { header: { revision: '8' }, events: [event(7)], fragment: true } },
    { result: { header: { revision: '8' }, events: [event(8)], fragment: true } },
    { result: { header: { revision: '8' }, events: [event(8)] } },
    { result: { header: { revision: '9' }, events: [event(9)] } },
  ]
  const lost = '{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}}'
  const text = `${messages.map((message) => JSON.stringify(message)).join('\n')}\n${lost}`

  async function told(messages: AsyncIterable<WatchMessage>) {
    const all: WatchMessage[] = []
    try {
      for await (const message of messages) all.push(message)
    } catch (error) {
      return { all, error }
    }
    return assert.fail('it ended by itself')
  }

  it('joins fragments, whatever the pieces, and hears an error that has no newline', async (t) => {
    const member = await startScriptedEtcd(t, () => {})
    const gateway = open(t, [member])
    for (const bytes of [1, 7, 64, text.length]) {
      member.answer = async (_call, response) => {
        for (let at = 0; at < text.length; at += bytes)
          await new Promise((resolve) => response.write(text.slice(at, at + bytes), resolve))
        response.end()
      }
      const { all, error } = await told(gateway.watch(watched()))
      const revisions = all.map((message) =>
        message.kind === 'events'
          ? message.events.map((one) => (one.kind === 'put' ? one.kv.modRevision : 0))
          : message,
      )
      assert.deepEqual(revisions, [{ kind: 'created', revision: 6 }, [7, 8, 8], [9]])
      failsWith('unavailable', true, /no leader/)(error)
    }
    assert.deepEqual(JSON.parse(member.calls[0]?.body ?? ''), {
      create_request: { key: 'L2E=', range_end: 'L2I=', start_revision: '7', fragment: true },
    })
  })

  it('ends when it is canceled, although its stream stays open', async (t) => {
    const closed: Promise<unknown>[] = []
    const member = await startScriptedEtcd(t, (_call, response) => {
      closed.push(once(response, 'close'))
      writeLine(response, { result: { created: true } })
      writeLine(response, { result: { canceled: true, cancel_reason: 'just so' } })
    })
    const { all, error } = await told(open(t, [member]).watch(watched()))
    assert.equal(all.length, 1)
    failsWith('unavailable', false, /^the watch was canceled: just so$/)(error)
    await Promise.all(closed)
  })

  it('ends with an error when the member ends it, breaks it off, or makes no sense', async (t) => {
    const member = await startScriptedEtcd(t, () => {})
    const gateway = open(t, [member])
    const ends: [(response: ServerResponse) => void, EtcdReason][] = [
      [(response) => response.end(), 'unavailable'],
      [(response) => response.socket?.destroy(), 'unreachable'],
      [(response) => response.end('{"result":{"events":[{"kv"'), 'unexpected'],
      [(response) => response.end('{"result":{"header":{"revision":"x"}}}\n'), 'unexpected'],
      [(response) => response.end('{}'), 'unexpected'],
    ]
    for (const [end, reason] of ends) {
      member.answer = (_call, response) => {
        response.write('{"result":{"created":true}}\n', () => end(response))
      }
      const { all, error } = await told(gateway.watch(watched()))
      assert.equal(all.length, 1)
      assert.ok(error instanceof EtcdError && error.reason === reason, String(error))
    }
  })

  it('waits without end for changes, but not for its beginning', async (t) => {
    const tick = holdTimers(t)
    const member = await startScriptedEtcd(t, () => {})
    const gateway = open(t, [member])
    const all = told(gateway.watch(watched()))
    await called(member)
    tick(ETCD_ATTEMPT_MS)
    failsWith('timed_out', false)((await all).error)
    member.answer = async (_call, response) => {
      await write(response, `${JSON.stringify({ result: { created: true } })}\n`)
      tick(60 * ETCD_ATTEMPT_MS)
      writeLine(response, { result: { events: [event(9)] } })
      response.end()
    }
    assert.equal((await told(gateway.watch(watched()))).all.length, 2)
  })

  it('ends with its signal and when nobody reads it any more, and then has no connection', async (t) => {
    const member = await startScriptedEtcd(t, () => {})
    const gateway = open(t, [member])
    const { promise, resolve } = Promise.withResolvers<unknown>()
    member.answer = (_call, response) => {
      response.once('close', resolve)
      writeLine(response, { result: { created: true } })
    }
    const [controller, reason] = [new AbortController(), new Error('enough')]
    const watch = gateway.watch(watched(controller.signal))[Symbol.asyncIterator]()
    await watch.next()
    const next = watch.next()
    controller.abort(reason)
    await assert.rejects(next, reason)
    await promise
    const again = Promise.withResolvers<unknown>()
    member.answer = (_call, response) => {
      response.once('close', again.resolve)
      writeLine(response, { result: { created: true } })
    }
    for await (const _ of gateway.watch(watched())) break
    await again.promise
  })
})

function writeLine(response: ServerResponse, message: object) {
  response.write(`${JSON.stringify(message)}\n`)
}

/** As `holdTimers` does, for timers that are refreshed, which those of node:test cannot be. */
function holdRefreshedTimers(t: TestContext): (ms: number) => void {
  let now = 0
  const held = new Map<object, { until: number; readonly run: () => void }>()
  const clear = clearTimeout
  t.mock.method(globalThis, 'setTimeout', (run: () => void, ms: number) => {
    const timer = { refresh: () => held.set(timer, { until: now + ms, run }) }
    timer.refresh()
    return timer
  })
  t.mock.method(globalThis, 'clearTimeout', (timer: NodeJS.Timeout) => {
    if (!held.delete(timer)) clear(timer)
  })
  return (ms) => {
    now += ms
    for (const [timer, { until, run }] of held) if (until <= now && held.delete(timer)) run()
  }
}

/** Writes a part of an answer, and waits until its reader, in this process, has it. */
async function write(response: ServerResponse, text: string) {
  await new Promise((resolve) => response.write(text, resolve))
  for (let turn = 0; turn < 10; turn++) await turnOfEventLoop()
}

/** Resolves once the member has got so many calls. */
async function called(member: ScriptedEtcd, times = 1) {
  while (member.calls.length < times) await turnOfEventLoop()
}
