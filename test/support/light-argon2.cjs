// Makes argon2 cheap inside of the executable, as light-argon2.ts does in tests. NODE_OPTIONS loads it before the program.
'use strict'
const crypto = require('node:crypto')

const computeArgon2 = crypto.argon2
crypto.argon2 = (algorithm, parameters, callback) =>
  computeArgon2(algorithm, { ...parameters, memory: 8, passes: 1, parallelism: 1 }, callback)
