import { parseCommandLine } from '../../src/command-line/command-line.ts'
import { serverFlags } from '../../src/command-line/options.ts'
import type { FileSystem } from '../../src/files/file-system.ts'
import { type Service, startService } from '../../src/service/service.ts'
import { clusterPlace } from './cluster-place.ts'
import type { HeldClock } from './held-clock.ts'
import { createMemoryLog, type MemoryLog } from './memory-log.ts'
import { startedFolder } from './started-folder.ts'
import { type Lifetime, temporaryFolder } from './temporary-folder.ts'
import { checkAnswer, expectDescribed } from './under-test.ts'

/** Members of an etcd that keeps the records of all services, instead of their folders; test/cluster/ sets it. */
const etcdUrls = process.env.CONNBOOK_TEST_ETCD

export const admin = { username: 'admin', password: 'correct horse' }
export const client = { client_id: 'script', client_secret: 'battery staple lamp' }

const user = { name: admin.username, secret: admin.password }
const script = { name: client.client_id, secret: client.client_secret }

/** A folder that a server has used, with `admin` and `client`; their secrets are cheap to check. */
export const usedFolder = (t: Lifetime) => startedFolder(t, user, script)

/** The environment that makes `admin` and `client` at a first start. */
export const firstStartEnvironment = {
  CONNBOOK_ADMIN_PASSWORD: admin.password,
  CONNBOOK_CLIENT_ID: client.client_id,
  CONNBOOK_CLIENT_SECRET: client.client_secret,
}

export interface TestService extends Service {
  readonly log: MemoryLog
  /** Sends a request; `path` begins behind the base path. */
  call(path: string, init?: RequestInit): Promise<Response>
  /** Logs `admin` in and gives a `Cookie` header. */
  cookie(): Promise<string>
  /** Gets a token for `client` and gives an `Authorization` header. */
  bearer(): Promise<string>
}

/**
 * Starts the service in this process, on a free port of the loopback interface; it is stopped when the test or the suite ends.
 *
 * It is a first start, with `firstStartEnvironment`, when a folder or an environment is given; otherwise
 * `admin` and `client` are there already.
 *
 * @param flags As on the command line, besides `--data` and those of `place`.
 * @param place Flags that say where to listen.
 */
export async function start(
  t: Lifetime,
  {
    folder,
    flags = [],
    place = ['--host', '127.0.0.1', '--port', '0'],
    environment,
    files,
    clock,
    tls,
  }: {
    folder?: string
    flags?: readonly string[]
    place?: readonly string[]
    environment?: NodeJS.ProcessEnv
    files?: FileSystem
    clock?: HeldClock
    /** PEM texts. */
    tls?: { readonly cert: string; readonly key: string }
  } = {},
): Promise<TestService> {
  const isFirstStart = folder !== undefined || environment !== undefined
  const data = isFirstStart ? (folder ?? (await temporaryFolder(t))) : await usedFolder(t)
  const cluster = etcdUrls === undefined ? [] : await clusterPlace(t, etcdUrls, data)
  const { options } = parseCommandLine([...place, '--data', data, ...cluster, ...flags], {}, serverFlags)
  const log = createMemoryLog()
  const service = await startService({
    options,
    environment: environment ?? (isFirstStart ? firstStartEnvironment : {}),
    log,
    tls,
    ...(files ? { files } : {}),
    ...(clock ? { makeClock: clock.make } : {}),
  })
  const { url } = service
  const forget = expectDescribed(url)
  let stopped: Promise<void> | undefined
  // Forgotten once it is stopped: a test may start thousands, and keeps this function until it ends.
  let stopService: (() => Promise<void>) | undefined = service.stop
  const stop = () => {
    stopped ??= stopService?.() ?? Promise.resolve()
    stopService = undefined
    forget()
    return stopped
  }
  t.after(stop)
  const call = async (path: string, init?: RequestInit) => {
    const response = await fetch(url + path, init)
    return withDescribedText(response, init?.method ?? 'GET')
  }

  return {
    ...service,
    stop,
    log,
    call,
    async cookie() {
      const answer = await call('/login', { method: 'POST', body: JSON.stringify(admin) })
      return answer.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    },
    async bearer() {
      const answer = await call('/v1/auth/token', { method: 'POST', body: JSON.stringify(client) })
      const { access_token } = (await answer.json()) as { access_token: string }
      return `Bearer ${access_token}`
    },
  }
}

/** Asserts of an answer that is read as text or as JSON that the OpenAPI document describes it. */
function withDescribedText(response: Response, method: string): Response {
  const read = response.text.bind(response)
  const text = async () => {
    const { origin, pathname, search } = new URL(response.url)
    const body = await read()
    const { status } = response
    const headers = Object.fromEntries(response.headers)
    await checkAnswer(origin, method, pathname + search, { status, headers, text: body })
    return body
  }
  return Object.assign(response, { text, json: async () => JSON.parse(await text()) })
}
