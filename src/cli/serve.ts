import { UsageError } from '../errors.ts'
import { dataFiles } from '../files/data-folder.ts'
import { version } from '../version.ts'
import { warnOfDates } from './certificate-validity.ts'
import { welcome } from './first-start.ts'
import { parseCommandLine } from './options.ts'
import { warnOfPlainHttp } from './plain-http.ts'
import { openServerLog, type ServerLog } from './server-log.ts'
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
  const log = openServerLog(options, environment)
  try {
    const service = await startService({ options, environment, log, tls })
    const { url, socket, folder, records } = service
    log.info('listening', { url, socket, data: folder.path, records, version, pid: process.pid })
    if (tls !== undefined) warnOfDates(tls.certificate, log)
    else if (service.address !== undefined) warnOfPlainHttp(service.address, log)
    await announceFirstStart(service, log)
    signals.onReload(() => {
      if (tlsPaths === undefined) log.info('nothing_to_reload', { signal: 'SIGHUP', reason: 'no --tls-cert' })
      else reloadTls(tlsPaths, service, log)
    })
    log.info('stopping', { signal: await signals.stop })
    await service.stop()
    log.info('stopped')
  } finally {
    await log.flush()
  }
}

/** Secrets are shown to a person at a terminal only; a log keeps what it gets. */
async function announceFirstStart({ madeUp, folder, url, socket }: Service, log: ServerLog) {
  if (madeUp === undefined) return
  const isAllGiven = Object.keys(madeUp).length === 0
  if (!isAllGiven && process.stderr.isTTY) {
    await log.flush()
    process.stderr.write(welcome(madeUp, folder, url, socket))
  } else {
    log.info('first_start', {
      credentials: isAllGiven ? 'as given' : folder.file(dataFiles.initialCredentials),
    })
  }
}
