import { isatty } from 'node:tty'

/** What signals ask of a server, from the moment that this is made. */
export interface Signals {
  /** Resolves with the signal that asks it to stop. */
  readonly stop: Promise<NodeJS.Signals>
  /** Calls at each SIGHUP from now on, and at once when one has come before. */
  onReload(reload: () => void): void
}

export function listenToSignals(): Signals {
  const { promise: stop, resolve } = Promise.withResolvers<NodeJS.Signals>()
  const hadTerminal = hasTerminal()
  let isReloadDue = false
  let reload = () => {
    isReloadDue = true
  }
  process.on('SIGTERM', resolve)
  process.on('SIGINT', resolve)
  process.on('SIGHUP', () => {
    // A terminal that is closed takes with it what runs in its foreground, and so does a console of Windows.
    if (process.platform === 'win32' || (hadTerminal && !hasTerminal())) resolve('SIGHUP')
    else reload()
  })
  // A limit on file sizes is weather like a full disk; without a listener this signal would end the process.
  process.on('SIGXFSZ', () => {})
  return {
    stop,
    onReload(called) {
      reload = called
      if (isReloadDue) reload()
    },
  }
}

/**
 * Has something done at SIGINT and SIGTERM, which then do not end the process.
 *
 * @returns What ends this.
 */
export function onInterruption(act: (signal: NodeJS.Signals) => void): () => void {
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.on(signal, act)
  return () => {
    for (const signal of signals) process.off(signal, act)
  }
}

/** The system stops calling it a terminal once it has been closed. */
function hasTerminal(): boolean {
  return [0, 1, 2].some((fd) => isatty(fd))
}
