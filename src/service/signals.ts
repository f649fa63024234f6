import { isatty } from 'node:tty'

export interface Signals {
  /** Resolves with the first signal to stop. */
  readonly stop: Promise<NodeJS.Signals>
  /** Calls `reload` at each SIGHUP, and at once if one has come already. */
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
    // A closed terminal, or Windows console, stops what runs in its foreground.
    if (process.platform === 'win32' || (hadTerminal && !hasTerminal())) resolve('SIGHUP')
    else reload()
  })
  // Otherwise the limit on file sizes would end the process. With this, a write fails, as on a full disk.
  process.on('SIGXFSZ', () => {})
  return {
    stop,
    onReload(called) {
      reload = called
      if (isReloadDue) reload()
    },
  }
}

/** Calls `act` at SIGINT and SIGTERM, which then do not end the process; the function returned stops that. */
export function onInterruption(act: (signal: NodeJS.Signals) => void): () => void {
  const signals = ['SIGINT', 'SIGTERM'] as const
  for (const signal of signals) process.on(signal, act)
  return () => {
    for (const signal of signals) process.off(signal, act)
  }
}

/** False once the terminal has been closed. */
function hasTerminal(): boolean {
  return [0, 1, 2].some((fd) => isatty(fd))
}
