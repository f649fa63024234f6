import { memoryBytes } from '../budget.ts'
import { clientVariables } from '../client/endpoint.ts'
import { type CommandContext, DAMAGED, defineCommand, IN_USE, type Screen } from '../command-line/command.ts'
import { findNearest } from '../command-line/nearest.ts'
import { describeFlags, type Options, serverFlags } from '../command-line/options.ts'
import { dataFiles } from '../files/data-folder.ts'
import type { Log } from '../log.ts'
import { firstStartVariables, welcome } from '../service/first-start.ts'
import { openServerLog, type ServerLog } from '../service/server-log.ts'
import { type Service, startService } from '../service/service.ts'
import { listenToSignals } from '../service/signals.ts'
import {
  checkAddressSpace,
  warnOfDates,
  warnOfPlainHttp,
  warnOfShortMemory,
} from '../service/start-checks.ts'
import { readTlsFiles, reloadTls, tlsPathsOf } from '../service/tls-files.ts'
import { inTurn } from '../system-account.ts'
import { buildLabels, version } from '../version.ts'

const PREFIX = 'CONNBOOK_'

export const serveCommand = defineCommand({
  name: 'serve',
  summary: 'start the server; "connbook" alone does the same',
  examples: [
    ['connbook', 'port 8080, folder ./data'],
    ['connbook --data /srv/connbook --port 80', ''],
    ['connbook --tls-cert cert.pem --tls-key key.pem', 'HTTPS'],
    ['CONNBOOK_PORT=80 connbook', 'a variable instead of a flag'],
  ],
  notes: [
    'SIGTERM or SIGINT stops it: it finishes the requests that have begun, and ends. SIGHUP makes it read certificate and key again.',
    'CONNBOOK_ADMIN_USERNAME, CONNBOOK_ADMIN_PASSWORD, CONNBOOK_CLIENT_ID and CONNBOOK_CLIENT_SECRET set the first accounts; later starts ignore them. With _FILE at the end of its name, a variable names a file that holds the value.',
    'A TIME is a number and a unit: 90s, 15m, 12h, 30d.',
  ],
  flags: serverFlags,
  exitCodes: { 0: 'stopped as asked', 65: DAMAGED, 75: IN_USE },
  run: ({ options }, context) => serve(options, context),
})

/** A signal came before the start was complete. */
class StoppedError extends Error {
  readonly signal: NodeJS.Signals

  constructor(signal: NodeJS.Signals) {
    super(`Stopped by ${signal} while starting`)
    this.signal = signal
  }
}

/** @throws {KeyExposedError} and what `startService` throws. */
async function serve(options: Options, { environment, screen }: CommandContext): Promise<void> {
  const signals = listenToSignals()
  checkAddressSpace()
  const tlsPaths = tlsPathsOf(options)
  const tls = tlsPaths && readTlsFiles(tlsPaths)
  const log = openServerLog(options, environment)
  try {
    warnOfVariables(environment, log)
    const starting = new AbortController()
    void signals.stop.then((signal) => starting.abort(new StoppedError(signal)))
    const service = await startService({ options, environment, log, tls, signal: starting.signal })
    const { url, socket, folder, records } = service
    const which = { version, ...buildLabels, pid: process.pid }
    log.info('listening', { url, socket, data: folder.path, records, ...which })
    if (tls !== undefined) warnOfDates(tls.certificate, log)
    else if (service.address !== undefined) warnOfPlainHttp(service.address, log)
    warnOfShortMemory(memoryBytes(), service.recordBytes, log)
    await announceFirstStart(service, options, log, screen)
    const reload = () => {
      const { reloadCluster } = service
      if (tlsPaths !== undefined) reloadTls(tlsPaths, service, log)
      else if (reloadCluster === undefined)
        log.info('reload_ignored', { signal: 'SIGHUP', reason: 'no --tls-cert' })
      reloadCluster?.()
    }
    signals.onReload(() => void inTurn(reload))
    const end = await Promise.race([signals.stop, service.failed])
    if (end instanceof Error) log.error('fatal_error', { reason: end.message })
    else log.info('stopping', { signal: end })
    await service.stop()
    if (end instanceof Error) throw end
    log.info('stopped')
  } catch (error) {
    if (!(error instanceof StoppedError)) throw error
    log.info('stopping', { signal: error.signal })
    log.info('stopped')
  } finally {
    await log.flush()
  }
}

/** Shows secrets only at a terminal, never in a log. */
async function announceFirstStart(
  { madeUp, folder, url, socket }: Service,
  { noConsole, etcd }: Options,
  log: ServerLog,
  screen: Screen,
) {
  if (madeUp === undefined) return
  const isAllGiven = Object.keys(madeUp).length === 0
  if (!isAllGiven && screen.isTTY) {
    await log.flush()
    screen.write(welcome(madeUp, folder, { url, socket, hasConsole: !noConsole }))
  } else {
    const credentials = isAllGiven ? 'as given' : folder.file(dataFiles.initialCredentials)
    const reason =
      etcd === undefined ? 'no server has started in this folder before' : 'etcd has nothing below the prefix'
    const remedy =
      'if there should be a book already, stop the server, and mount the folder or name the right one'
    log.warn('first_start', { data: folder.path, reason, remedy, credentials })
  }
}

/**
 * Logs the variables of the environment that have no effect on a server: those that are empty, and those with a name
 * that connbook does not know, but that is nearly one of its own. Others with this prefix belong to other programs,
 * such as the CONNBOOK_SERVICE_HOST of Kubernetes.
 */
export function warnOfVariables(environment: NodeJS.ProcessEnv, log: Log): void {
  const ofFlags = describeFlags(serverFlags).flatMap(({ variables }) => variables)
  const ofClients = [...Object.values(clientVariables), `${clientVariables.clientSecret}_FILE`]
  const known = [...ofFlags, ...firstStartVariables, ...ofClients].filter((variable) =>
    variable.startsWith(PREFIX),
  )
  const ofServer = known.filter((variable) => !ofClients.includes(variable))
  const empty = ofServer.filter((variable) => environment[variable] === '')
  if (empty.length > 0) log.info('variables_empty', { variables: empty.join(' ') })
  for (const variable of Object.keys(environment)) {
    if (!variable.startsWith(PREFIX) || known.includes(variable)) continue
    const bare = known.map((name) => name.slice(PREFIX.length))
    const nearest = findNearest(variable.slice(PREFIX.length), bare)
    if (nearest !== undefined)
      log.warn('variable_unknown', { variable, remedy: `did you mean ${PREFIX}${nearest}?` })
  }
}
