import './support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ErrorCode, exitCodeOf, exitCodeOfAnswer } from '../src/error-types.ts'

describe('the exit code of a command', () => {
  const answers: [code: string | undefined, status: number, exit: number][] = [
    ['invalid_input', 400, 2],
    ['invalid_client', 401, 5],
    ['not_granted', 403, 5],
    ['unknown_name', 404, 3],
    ['unknown_account', 404, 3],
    ['unknown_path', 404, 1],
    ['name_taken', 409, 4],
    ['stale_record', 412, 4],
    ['too_many_keys', 409, 1],
    ['storage_unavailable', 503, 1],
    [undefined, 404, 1],
    [undefined, 403, 5],
    ['of_a_newer_server', 409, 4],
    ['toString', 418, 1],
  ]
  for (const [code, status, exit] of answers) {
    it(`is ${exit} after an answer ${status} ${code ?? 'without a code'}`, () => {
      assert.equal(exitCodeOfAnswer(code, status), exit)
    })
  }

  const errors: [code: ErrorCode, exit: number][] = [
    ['invalid_usage', 2],
    ['too_many_accounts', 4],
    ['not_private', 5],
    ['unreachable', 6],
    ['damaged_data', 65],
    ['folder_in_use', 75],
    ['interrupted', 130],
    ['folder_refused', 1],
  ]
  for (const [code, exit] of errors) {
    it(`is ${exit} after the error ${code}`, () => {
      assert.equal(exitCodeOf(code), exit)
    })
  }
})
