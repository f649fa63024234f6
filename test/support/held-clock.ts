import { type Clock, createClock } from '../../src/auth/clock.ts'

/** A clock that stands still until the test moves it. */
export interface HeldClock {
  /** The machine's clock, in ms since 1970; may be set back. */
  wall: number
  /** Lets real time pass: moves the wall clock and the elapsed time. */
  advance(ms: number): void
  make(notBefore?: number): Clock
}

export function holdClock(wall = Date.UTC(2026, 0, 1)): HeldClock {
  let elapsed = 0
  const held: HeldClock = {
    wall,
    advance(ms) {
      held.wall += ms
      elapsed += ms
    },
    make: (notBefore = 0) =>
      createClock(
        notBefore,
        () => held.wall,
        () => elapsed,
      ),
  }
  return held
}
