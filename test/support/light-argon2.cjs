// Makes argon2 cheap in a bundled program, as light-argon2.ts does in tests. --require loads it before the program.
'use strict'
const crypto = require('node:crypto')

const computeArgon2 = crypto.argon2
crypto.argon2 = (algorithm, parameters, callback) =>
  computeArgon2(algorithm, { ...parameters, memory: 8, passes: 1, parallelism: 1 }, callback)
