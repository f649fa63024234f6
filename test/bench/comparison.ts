/** What can be measured, and how it is shown. */
export const figures = {
  cpuMicroseconds: { label: 'server CPU, µs/request', digits: 1 },
  perSecond: { label: 'requests/s', digits: 0 },
  startMilliseconds: { label: 'ms to the first 200', digits: 1 },
  holdP50: { label: 'loop held, ms: half', digits: 2 },
  holdP99: { label: 'loop held, ms: 99 %', digits: 2 },
  holdMax: { label: 'loop held, ms: most', digits: 1 },
  answerP50: { label: 'answered, ms: half', digits: 2 },
  answerP99: { label: 'answered, ms: 99 %', digits: 2 },
  answerMax: { label: 'answered, ms: last', digits: 1 },
  memory: { label: 'memory, MiB', digits: 0 },
  /** Near 1, it is the generator, which has one thread, that sets the pace. */
  generatorCores: { label: 'CPU of the load generator, cores', digits: 2 },
  otherCores: { label: 'CPU of everything else, cores', digits: 2 },
} as const

export type Figure = keyof typeof figures

/** What one measurement gave. */
export type Sample = Readonly<Partial<Record<Figure, number>>>

/** One of two things to be compared; each call of `measure` begins afresh. */
export interface Contender {
  readonly name: string
  readonly measure: () => Promise<Sample>
}

/** What is hoped of subject by baseline, or of the subject alone. */
export interface Target {
  readonly figure: Figure
  /** For the subject's own value, whatever the baseline's. */
  readonly millisecondsAtMost?: number
  readonly atMost?: number
  readonly atLeast?: number
}

/** What the table of a comparison says above the values, and what is hoped of them. */
export interface Heading {
  readonly title: string
  readonly subject: { readonly name: string }
  readonly baseline: { readonly name: string }
  /** The figures to show, in this order. */
  readonly targets: readonly Target[]
}

export interface Comparison extends Heading {
  readonly subject: Contender
  readonly baseline: Contender
  readonly rounds: number
  /** Rounds before those that count. */
  readonly warmUpRounds?: number
}

export interface Result {
  readonly comparison: Heading
  /** Round by round, so that neighbours in time are at the same position. */
  readonly subject: readonly Sample[]
  readonly baseline: readonly Sample[]
}

/** Measures both in turn, and every other round in the other order, so that a drift of the machine cancels out. */
export async function runComparison(comparison: Comparison): Promise<Result> {
  const { subject, baseline, rounds, warmUpRounds = 0 } = comparison
  const samples = { subject: [] as Sample[], baseline: [] as Sample[] }
  for (let round = -warmUpRounds; round < rounds; round++) {
    const order = round % 2 === 0 ? (['subject', 'baseline'] as const) : (['baseline', 'subject'] as const)
    for (const who of order) {
      const sample = await { subject, baseline }[who].measure()
      if (round >= 0) samples[who].push(sample)
    }
  }
  return { comparison, ...samples }
}
