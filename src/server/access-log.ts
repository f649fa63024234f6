import type { Log } from '../log.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** Logs a request once its answer is sent, or its connection closed. */
export function logWhenDone(request: IncomingRequest, log: Log): void {
  const { response } = request
  response.once('close', () => {
    log.info('request', {
      request_id: request.requestId,
      method: request.method,
      path: request.path,
      status: response.statusCode,
      ms: Math.round((performance.now() - request.beganMs) * 10) / 10,
      address: request.address,
      account: request.principal?.name,
      complete: response.writableFinished,
    })
  })
}
