import { readdirSync } from 'node:fs'
import { version } from '../version.ts'
import type { Family, Sample } from './family.ts'

/** Version and process metrics; the latter under the names that dashboards know. */
export function processMetrics(): Family[] {
  return [
    {
      name: 'connbook_build_info',
      help: 'Version of connbook and of the Node inside; always 1.',
      type: 'gauge',
      samples: () => [{ labels: { version, node: process.version }, value: 1 }],
    },
    {
      name: 'process_cpu_seconds_total',
      help: 'CPU time of all threads, in user and kernel mode.',
      type: 'counter',
      samples() {
        const { user, system } = process.cpuUsage()
        return [{ value: (user + system) / 1e6 }]
      },
    },
    {
      name: 'process_resident_memory_bytes',
      help: 'Memory in use, pages of files included.',
      type: 'gauge',
      samples: () => [{ value: process.memoryUsage.rss() }],
    },
    {
      name: 'process_start_time_seconds',
      help: 'When the process started, in seconds since 1970.',
      type: 'gauge',
      samples: () => [{ value: performance.timeOrigin / 1000 }],
    },
    {
      name: 'process_open_fds',
      help: 'Open file descriptors, sockets included; only Linux tells.',
      type: 'gauge',
      samples: countDescriptors,
    },
    {
      name: 'nodejs_heap_size_used_bytes',
      help: 'Memory of JavaScript objects, garbage included that is not collected yet.',
      type: 'gauge',
      samples: () => [{ value: process.memoryUsage().heapUsed }],
    },
    {
      name: 'nodejs_heap_size_total_bytes',
      help: 'Memory set aside for JavaScript objects.',
      type: 'gauge',
      samples: () => [{ value: process.memoryUsage().heapTotal }],
    },
    {
      name: 'nodejs_external_memory_bytes',
      help: 'Memory of buffers and other things that JavaScript objects hold.',
      type: 'gauge',
      samples: () => [{ value: process.memoryUsage().external }],
    },
  ]
}

function countDescriptors(): Sample<number>[] {
  try {
    // One of them is open for this call.
    return [{ value: readdirSync('/proc/self/fd').length - 1 }]
  } catch {
    return []
  }
}
