import { NoAnswerError, openCall, UnreachableError } from '../../client/call.ts'
import type { Endpoint } from '../../client/endpoint.ts'
import { findOwnerSocket } from '../../client/owner-socket.ts'
import { pause } from '../../client/pause.ts'
import type { CommandContext, Screen } from '../../command-line/command.ts'
import { FolderInUseError, FolderRefusedError, systemCode } from '../../errors.ts'
import { type DataPaths, ownerSocketPath } from '../../files/data-folder.ts'
import { checkNoDanglingLink } from '../../files/refusal.ts'
import { LOCK_PAUSE_MS, LOCK_WAIT_MS } from '../../limits.ts'
import { createLog, type Log } from '../../log.ts'
import { OwnBook } from '../../service/own-book.ts'
import { isNodeFolder } from '../../state/node-folder.ts'

/** What a command may do where no server has the folder. */
export interface FolderUse {
  /** Whether it makes a book of a folder that holds nothing of connbook, or is missing. */
  readonly isMadeIfMissing?: boolean
  /** Whether only a server counts, and the book is not opened here. */
  readonly isServerOnly?: boolean
  /** Whether only a folder counts, and no server that is called over HTTP. */
  readonly isFolderOnly?: boolean
}

const ADVICE =
  'if a server has it, name that in place of --data: --server URL or unix:PATH, after "connbook login"'

/**
 * The book of a folder: the server that has it is called on its owner's socket; without one, each call is answered in this
 * process.
 *
 * Its `exchange` waits LOCK_WAIT_MS for another process that has the folder. It throws {FolderInUseError}
 * {FolderRefusedError} {DamagedFileError}, and with `isServerOnly` {UnreachableError} while no server can be called.
 */
export function folderEndpoint(
  folder: DataPaths,
  { isMadeIfMissing = false, isServerOnly = false, isFolderOnly = false }: FolderUse,
  { environment, screen, opened }: Pick<CommandContext, 'environment' | 'screen' | 'opened'>,
): Endpoint {
  const { path } = folder
  const log = commandLog(screen)
  const own = opened.use(new OwnBook(folder, { environment, log, screen, isMadeIfMissing }))
  return {
    name: path,
    where: `in ${path}`,
    folder: path,
    isSecure: false,
    host: 'localhost',
    at: { socketPath: ownerSocketPath(path) },
    basePath: '',
    authorities: [],
    async exchange(call, options) {
      const end = performance.now() + LOCK_WAIT_MS
      for (;;) {
        const socket = own.isOpen ? { reason: undefined } : await findOwnerSocket(folder)
        let why = socket.reason
        try {
          if (socket.endpoint !== undefined) return await openCall(socket.endpoint, call, options)
        } catch (error) {
          // A server that was killed leaves its socket behind. One that is killed now has read for nobody.
          if (!(error instanceof UnreachableError || (call.method === 'GET' && isReset(error)))) throw error
          why = error.message
        }
        if (isServerOnly) throw await noServer(folder, why)
        await checkNoNode(folder, why)
        try {
          return await own.call(call, options)
        } catch (error) {
          if (!(error instanceof FolderInUseError)) throw error
          // What is not used as a socket does not become one.
          if (socket.reason !== undefined || performance.now() >= end) throw inUse(error, why, isFolderOnly)
        }
        await pause(LOCK_PAUSE_MS, options.signal)
      }
    },
  }
}

/** Whether the server ended before it answered. */
function isReset(error: unknown): error is NoAnswerError {
  return error instanceof NoAnswerError && systemCode(error.cause) === 'ECONNRESET'
}

async function noServer(folder: DataPaths, why: string | undefined): Promise<UnreachableError> {
  const { path, files } = folder
  if (why === undefined) await checkNoDanglingLink(path, files)
  const reason = why ?? 'no server has made its socket there; start one, or name another with --server'
  return new UnreachableError(`Cannot call the server of "${path}": ${reason}`)
}

/** @throws {FolderRefusedError} for the folder of a node of a cluster: its records are not there. */
async function checkNoNode(folder: DataPaths, why: string | undefined): Promise<void> {
  if (!(await isNodeFolder(folder))) return
  throw new FolderRefusedError(
    `Cannot use "${folder.path}": it is the folder of a node, whose records are in etcd, and the node cannot be called: ${why ?? 'it does not run'}; start it, or name one that runs with --server`,
  )
}

/** Advises to name the server, which may have the folder, if the command can call one. */
function inUse(error: FolderInUseError, why: string | undefined, isFolderOnly: boolean): FolderInUseError {
  const lines = [error.message, ...(why === undefined ? [] : [why]), ...(isFolderOnly ? [] : [ADVICE])]
  return new FolderInUseError(lines.join('\n'), { cause: error })
}

/** Without what a server logs when it opens a book, and what the command says itself: who can do nothing any more. */
function commandLog(screen: Screen): Log {
  const log = createLog('text', (line) => screen.write(line))
  return {
    ...log,
    info: () => {},
    warn: (event, fields) => {
      if (!event.startsWith('nobody_')) log.warn(event, fields)
    },
  }
}
