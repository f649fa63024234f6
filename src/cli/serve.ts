import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { UsageError } from '../errors.ts'
import { dataFiles } from '../files/data-folder.ts'
import { createLog, type Log } from '../log.ts'
import { version } from '../version.ts'
import { welcome } from './first-start.ts'
import { type Options, parseCommandLine } from './options.ts'
import { type Service, startService } from './service.ts'

/**
 * Serves until SIGTERM or SIGINT, then answers what is in flight and returns.
 *
 * @throws {UsageError} and whatever `startService` throws when it cannot start.
 */
export async function serve(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  const { options, words } = parseCommandLine(args, environment)
  if (words.length > 0) throw new UsageError(`Unknown command "${words.join(' ')}"; see connbook help`)
  const tls = readTls(options)
  const log = createLog(options.logFormat ?? (process.stderr.isTTY ? 'text' : 'json'))
  // A limit on file sizes is weather like a full disk; without a listener this signal would end the process.
  process.on('SIGXFSZ', () => {})
  const stopSignal = new Promise<NodeJS.Signals>((resolve) => {
    process.on('SIGTERM', resolve)
    process.on('SIGINT', resolve)
  })

  const service = await startService({ options, environment, log, tls })
  const { url, folder, records } = service
  log.info('listening', { url, data: folder.path, records, version, pid: process.pid })
  announceFirstStart(service, log)
  log.info('stopping', { signal: await stopSignal })
  await service.stop()
  log.info('stopped')
}

/** Secrets are shown to a person at a terminal only; a log keeps what it gets. */
function announceFirstStart({ madeUp, folder, url }: Service, log: Log) {
  if (madeUp === undefined) return
  const isAllGiven = Object.keys(madeUp).length === 0
  if (!isAllGiven && process.stderr.isTTY) process.stderr.write(welcome(madeUp, folder, url))
  else
    log.info('first_start', {
      credentials: isAllGiven ? 'as given' : folder.file(dataFiles.initialCredentials),
    })
}

function readTls({ tlsCert, tlsKey }: Options): { cert: string; key: string } | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined
  const tls = { cert: readPem('--tls-cert', tlsCert), key: readPem('--tls-key', tlsKey) }
  try {
    createSecureContext(tls)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(`Cannot use --tls-cert "${tlsCert}" with --tls-key "${tlsKey}": ${reason}`, {
      cause: error,
    })
  }
  return tls
}

function readPem(flag: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(`Cannot read ${flag} "${path}": ${reason}`, { cause: error })
  }
}
