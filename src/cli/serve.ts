import { UsageError } from '../errors.ts'
import { dataFiles } from '../files/data-folder.ts'
import { createLog, type Log } from '../log.ts'
import { version } from '../version.ts'
import { warnOfDates } from './certificate-validity.ts'
import { welcome } from './first-start.ts'
import { parseCommandLine } from './options.ts'
import { warnOfPlainHttp } from './plain-http.ts'
import { type Service, startService } from './service.ts'
import { listenToSignals } from './signals.ts'
import { readTlsFiles, tlsPathsOf } from './tls-files.ts'
import { reloadTls } from './tls-reload.ts'

/**
 * Serves until SIGTERM or SIGINT, then answers what is in flight and returns. At SIGHUP it reads certificate and key
 * again.
 *
 * @throws {UsageError} {KeyExposedError} and whatever `startService` throws when it cannot start.
 */
export async function serve(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  const signals = listenToSignals()
  const { options, words } = parseCommandLine(args, environment)
  if (words.length > 0) throw new UsageError(`Unknown command "${words.join(' ')}"; see connbook help`)
  const tlsPaths = tlsPathsOf(options)
  const tls = tlsPaths && readTlsFiles(tlsPaths)
  const log = createLog(options.logFormat ?? (process.stderr.isTTY ? 'text' : 'json'))

  const service = await startService({ options, environment, log, tls })
  const { url, folder, records } = service
  log.info('listening', { url, data: folder.path, records, version, pid: process.pid })
  if (tls === undefined) warnOfPlainHttp(service.address, log)
  else warnOfDates(tls.certificate, log)
  announceFirstStart(service, log)
  signals.onReload(() => {
    if (tlsPaths === undefined) log.info('nothing_to_reload', { signal: 'SIGHUP', reason: 'no --tls-cert' })
    else reloadTls(tlsPaths, service, log)
  })
  log.info('stopping', { signal: await signals.stop })
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
