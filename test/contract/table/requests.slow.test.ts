import { requestsContract } from './requests-contract.ts'

/** Other requests each time. A failure names its seed. */
requestsContract({ runs: 150, seed: Date.now() })
