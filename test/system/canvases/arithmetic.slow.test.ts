import { aCalculatingSystem, testArithmetic } from '../../support/canvases/arithmetic.ts'

/** Tests canvases that one kind of workers serves alone. `canvases.test.ts` tests both kinds together. */

const { ended } = aCalculatingSystem()

testArithmetic('handlers', { add: 'add', multiply: 'multiply', ended })
testArithmetic('an HTTP worker', { add: 'sum', multiply: 'product', ended })
