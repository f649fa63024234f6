// Makes argon2 cheap in a bundled program, as light-argon2.ts does in tests. --require loads it before the program.
'use strict'
const crypto = require('node:crypto')
const workerThreads = require('node:worker_threads')

const computeArgon2 = crypto.argon2
const least = { memory: 8, passes: 1, parallelism: 1 }

crypto.argon2 = (algorithm, parameters, callback) =>
  computeArgon2(algorithm, { ...parameters, ...least }, callback)

workerThreads.Worker = class extends workerThreads.Worker {
  postMessage(message) {
    const { parameters } = message
    super.postMessage(
      parameters === undefined ? message : { ...message, parameters: { ...parameters, ...least } },
    )
  }
}
