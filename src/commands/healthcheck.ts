import { request as requestOverHttp } from 'node:http'
import { isIP, isIPv6 } from 'node:net'
import { resolve } from 'node:path'
import { defineCommand } from '../command-line/command.ts'
import type { Options } from '../command-line/options.ts'
import { OutputError } from '../command-line/output.ts'
import { ConnbookError, UsageError } from '../errors.ts'
import { isLoopback } from '../network.ts'
import { hidePassword } from '../text.ts'

const HEALTHCHECK_TIMEOUT_MS = 3_000

const paths = { ready: '/readyz', live: '/healthz' } as const

/** No answer, or one other than 200. */
export class UnhealthyError extends ConnbookError {
  readonly code = 'unhealthy'
}

interface Question {
  readonly url: URL
  /** Where to connect: a URL can hold neither an IPv6 zone nor the path of a Unix socket. */
  readonly place: { readonly hostname: string } | { readonly socketPath: string }
  readonly isVerified: boolean
}

/**
 * Asks /readyz, or /healthz with `--live`; by default of the server that the same flags and variables would start.
 *
 * Verifies the certificate only for a URL of another machine: nothing secret is sent, and the certificate file may
 * be newer than the certificate in use.
 */
export const healthcheckCommand = defineCommand({
  name: 'healthcheck',
  operands: '[URL]',
  summary: 'ask a server whether it is ready',
  examples: [
    ['connbook healthcheck http://localhost:8080', 'is it ready?'],
    ['connbook healthcheck --port 80 --live', 'is it alive?'],
    ['HEALTHCHECK CMD ["/connbook", "healthcheck", "--live"]', 'in a Dockerfile'],
  ],
  server: 'running',
  notes: [
    'Do not restart a server because it is not ready: when the disk fails, changes are refused but reads go on. See "connbook help metrics".',
    'Without a URL it asks the server that the same flags and variables would start. It waits 3 s at most. It verifies a certificate only for a URL of another machine.',
  ],
  // Those that say where a server listens, and --tls-key because --tls-cert needs it.
  flags: ['port', 'host', 'listen', 'basePath', 'tlsCert', 'tlsKey', 'live'],
  exitCodes: { 0: 'the answer is 200', 1: 'another answer, or none' },
  async run({ options, operands: [address] }, { print }) {
    const line = await askHealth(address, options)
    await print(`${line}\n`).catch((cause: unknown) => {
      throw new OutputError(`Cannot show the answer; ${line}`, { cause })
    })
  },
})

type Target = Pick<Options, 'port' | 'host' | 'listen' | 'basePath' | 'tlsCert' | 'live'>

/**
 * @param address URL of the server; by default the one that `options` would start.
 * @returns The answer in words.
 * @throws {UsageError} for a bad URL, or for port 0.
 * @throws {UnhealthyError} for an answer other than 200, or none within `timeoutMs`.
 */
export async function askHealth(
  address: string | undefined,
  options: Target,
  timeoutMs = HEALTHCHECK_TIMEOUT_MS,
): Promise<string> {
  const question = address === undefined ? ofOptions(options) : ofAddress(address, options)
  const status = await ask(question, timeoutMs)
  const line = `${nameOf(question)} answers ${status}`
  if (status !== 200) throw new UnhealthyError(`Not ${options.live ? 'alive' : 'ready'}: ${line}`)
  return line
}

function ofOptions({ port, host = '127.0.0.1', listen, basePath, tlsCert, live }: Target): Question {
  const origin = tlsCert === undefined ? 'http://' : 'https://'
  const path = `${basePath}${live ? paths.live : paths.ready}`
  if (listen !== undefined) {
    const place = { socketPath: resolve(listen) }
    return { url: new URL(`${origin}localhost${path}`), place, isVerified: false }
  }
  if (port === 0) throw new UsageError('Cannot ask on port 0; give the --port that the server has got')
  // A wildcard address includes the loopback.
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const name = isIPv6(reachable) ? `[${reachable.split('%')[0]}]` : reachable
  const url = new URL(`${origin}${name}:${port}${path}`)
  return { url, place: { hostname: reachable }, isVerified: false }
}

function ofAddress(address: string, { live }: Target): Question {
  const url = URL.parse(address)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError(
      `Cannot ask "${hidePassword(address)}": it must be a URL such as http://localhost:8080`,
    )
  }
  url.username = ''
  url.password = ''
  if (!Object.values<string>(paths).some((path) => url.pathname.endsWith(path))) {
    url.pathname = `${url.pathname.replace(/\/$/, '')}${live ? paths.live : paths.ready}`
  }
  const hostname = url.hostname.replace(/^\[|\]$/g, '')
  const isOfThisMachine = hostname === 'localhost' || (isIP(hostname) !== 0 && isLoopback(hostname))
  return { url, place: { hostname }, isVerified: !isOfThisMachine }
}

function nameOf({ url, place }: Question): string {
  return 'socketPath' in place ? `${url.href} on ${place.socketPath}` : url.href
}

async function ask(question: Question, timeoutMs: number): Promise<number | undefined> {
  const { url, place, isVerified } = question
  const request = url.protocol === 'https:' ? process.getBuiltinModule('node:https').request : requestOverHttp
  const options = {
    ...place,
    headers: { Host: url.host },
    agent: false,
    rejectUnauthorized: isVerified,
    signal: AbortSignal.timeout(timeoutMs),
  }
  const { promise, resolve: answer, reject } = Promise.withResolvers<number | undefined>()
  request(url, options, (response) => {
    answer(response.statusCode)
    response.destroy()
  })
    .on('error', reject)
    .end()
  return promise.catch((cause: unknown) => {
    throw new UnhealthyError(`No answer from ${nameOf(question)}: ${reasonOf(cause, timeoutMs)}`, { cause })
  })
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'AbortError') return `none within ${timeoutMs / 1000} s`
  // One error per address that was tried.
  const [first] = error instanceof AggregateError ? error.errors : [error]
  // After a semicolon Node advises how to start Node.
  return first instanceof Error ? first.message.replace(/; .*/s, '') : String(first)
}
