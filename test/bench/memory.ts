import type { ServerProcess } from './server-process.ts'
import { type Period, sharedNow } from './shared-clock.ts'

const LOOK_MS = 20

/** Looks at the memory of a server again and again, until `stop`. */
export function followMemory(server: ServerProcess) {
  const looks: { readonly at: number; readonly mebibytes: number }[] = []
  const look = () => looks.push({ at: sharedNow(), mebibytes: server.memory() })
  const timer = setInterval(look, LOOK_MS)
  return {
    stop: () => clearInterval(timer),
    during: ({ begin, end }: Period): number[] =>
      looks.filter(({ at }) => at >= begin && at <= end).map(({ mebibytes }) => mebibytes),
  }
}
