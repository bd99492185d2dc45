import { requestsContract } from './requests-contract.ts'

/** `requests.slow.test.ts` plays many more. */
requestsContract({ runs: 10, seed: 1 })
