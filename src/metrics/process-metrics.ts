import { readdirSync } from 'node:fs'
import { version } from '../version.ts'
import { counter, type Family, gauge } from './family.ts'

/** Version and process metrics; the latter under the names that dashboards know. */
export function processMetrics(): Family[] {
  return [
    {
      name: 'connbook_build_info',
      help: 'Version of connbook and of the Node inside; always 1.',
      type: 'gauge',
      labels: ['version', 'node'],
      samples: () => [{ labels: { version, node: process.version }, value: 1 }],
    },
    counter('process_cpu_seconds_total', 'CPU time of all threads, in user and kernel mode.', () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    }),
    gauge('process_resident_memory_bytes', 'Memory in use, including pages of files.', () =>
      process.memoryUsage.rss(),
    ),
    gauge(
      'process_start_time_seconds',
      'When the process started, in seconds since 1970.',
      () => performance.timeOrigin / 1000,
    ),
    gauge('process_open_fds', 'Open file descriptors, including sockets; on Linux only.', countDescriptors),
    gauge(
      'nodejs_heap_size_used_bytes',
      'Memory of JavaScript objects, including garbage that is not collected yet.',
      () => process.memoryUsage().heapUsed,
    ),
    gauge(
      'nodejs_heap_size_total_bytes',
      'Memory set aside for JavaScript objects.',
      () => process.memoryUsage().heapTotal,
    ),
    gauge(
      'nodejs_external_memory_bytes',
      'Memory of buffers and other things that JavaScript objects hold.',
      () => process.memoryUsage().external,
    ),
  ]
}

function countDescriptors(): number | undefined {
  try {
    // One of them is open for this call.
    return readdirSync('/proc/self/fd').length - 1
  } catch {
    return undefined
  }
}
