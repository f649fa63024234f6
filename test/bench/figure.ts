/** What can be measured, and how it is shown. */
export const figures = {
  cpuMicroseconds: { label: 'server CPU, µs/request', digits: 1 },
  cpuCores: { label: 'server CPU, cores', digits: 2 },
  perSecond: { label: 'requests/s', digits: 0 },
  perCpuSecond: { label: 'requests per CPU second', digits: 0 },
  latencyP50: { label: 'latency p50, ms', digits: 2 },
  latencyP99: { label: 'latency p99, ms', digits: 2 },
  latencyMax: { label: 'longest latency, ms', digits: 1 },
  healthyMilliseconds: { label: 'ms to /healthz 200', digits: 0 },
  readyMilliseconds: { label: 'ms to /readyz 200', digits: 0 },
  firstByteMilliseconds: { label: 'ms to the first byte', digits: 1 },
  lastByteMilliseconds: { label: 'ms to the last byte', digits: 1 },
  holdP50: { label: 'event loop held p50, ms', digits: 2 },
  holdP99: { label: 'event loop held p99, ms', digits: 2 },
  holdMax: { label: 'event loop held longest, ms', digits: 1 },
  residentMebibytes: { label: 'memory RSS, MiB', digits: 1 },
  proportionalMebibytes: { label: 'memory PSS, MiB', digits: 1 },
  anonymousMebibytes: { label: 'memory without files, MiB', digits: 1 },
  bytesPerRecord: { label: 'memory RSS, bytes/record', digits: 0 },
  /** Near 1, it is the generator, which has one thread, that sets the pace. */
  generatorCores: { label: 'CPU of the load generator, cores', digits: 2 },
  otherCores: { label: 'CPU of everything else, cores', digits: 2 },
} as const

export type Figure = keyof typeof figures

/** What one measurement gave. */
export type Sample = Readonly<Partial<Record<Figure, number>>>

/** What was measured of one contender, round by round. */
export interface Series {
  readonly name: string
  readonly samples: readonly Sample[]
}

/** The values of one figure; NaN where a round has none. */
export function valuesOf({ samples }: Series, figure: Figure): number[] {
  return samples.map((sample) => sample[figure] ?? Number.NaN)
}
