import type { Sample, Series } from './figure.ts'

/** One of the things to be compared. */
export interface Contender {
  readonly name: string
  readonly measure: () => Promise<Sample>
  /** Until the compiler has optimized. */
  readonly warmUp?: () => Promise<unknown>
}

export const ROUNDS = 9
/** For what takes many seconds: the fewest that give a 95 % interval of the median. */
export const LONG_ROUNDS = 6

/**
 * Measures all in turn, every second round in reverse order, so that a drift of the machine cancels out.
 *
 * @returns In the order of the contenders; what was measured in the same round is at the same position.
 */
export async function measureInTurn<const Contenders extends readonly Contender[]>(
  contenders: Contenders,
  rounds = ROUNDS,
): Promise<{ readonly [Position in keyof Contenders]: Series }> {
  for (const { warmUp } of contenders) await warmUp?.()
  const samples = new Map<Contender, Sample[]>(contenders.map((contender) => [contender, []]))
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? contenders : contenders.toReversed()
    for (const contender of order) samples.get(contender)?.push(await contender.measure())
  }
  const series = contenders.map((contender) => ({
    name: contender.name,
    samples: samples.get(contender) ?? [],
  }))
  return series as unknown as { readonly [Position in keyof Contenders]: Series }
}
