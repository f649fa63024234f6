import { missing } from './debian.ts'

/** For the `skip` of a test that sets a clock. */
export const noFaketime = missing('faketime')

/**
 * The library of faketime. Its command is not used: it fails when a killed process that had the same id has left its
 * semaphore in /dev/shm. The loader replaces `$LIB`.
 */
export const fakeTimeLibrary = '/usr/$LIB/faketime/libfaketimeMT.so.1'

/**
 * For `through`: a wrong clock.
 *
 * @param time As FAKETIME has it: an offset from the right time, `+9d` for example, or `@2001-01-01 00:00:00`, a local time to begin at.
 */
export function atTime(time: string): readonly string[] {
  return ['env', `LD_PRELOAD=${fakeTimeLibrary}`, `FAKETIME=${time}`]
}

/** The files that a process with the library has, and leaves when it is killed or replaced by another program. */
export function fakeTimeFiles(pid: number): readonly string[] {
  return [`/dev/shm/faketime_shm_${pid}`, `/dev/shm/sem.faketime_sem_${pid}`]
}
