import { createClient } from '../../shared/client/client.ts'
import type { Context } from '../system/with-system.ts'
import { durationText } from '../terminal/times.ts'
import type { Finding } from './finding.ts'

/** AWS refuses signatures that are older than five minutes, and leases are some seconds long. */
const WRONG_SKEW_MS = 60_000
const NOTICED_SKEW_MS = 3_000

/** Whether the API answers, and how far its clock is from the one of this machine. */
export async function checkClock({ url, fetch, io }: Context): Promise<Finding[]> {
  const sentAt = io.now()
  let date: string | null = null
  const observed = async (request: Request) => {
    const response = await fetch(request)
    date = response.headers.get('date')
    return response
  }
  await createClient({ url, fetch: observed }).types({ limit: 1 })
  const reached: Finding = { level: 'fine', check: 'api', text: `the API answers at ${url}` }
  return [reached, ...skewFindings(date, (sentAt + io.now()) / 2)]
}

/** The header has whole seconds, so half a second is added to its time. */
function skewFindings(date: string | null, now: number): Finding[] {
  const skewMs = Date.parse(date ?? '') + 500 - now
  if (Number.isNaN(skewMs)) return []
  const check = 'clock'
  const size = Math.abs(skewMs)
  if (size < NOTICED_SKEW_MS) return [{ level: 'fine', check, text: 'the clocks agree' }]
  const side = skewMs < 0 ? 'ahead of' : 'behind'
  return [
    {
      level: size < WRONG_SKEW_MS ? 'notice' : 'wrong',
      check,
      text: `the clock of this machine is ${durationText(size)} ${side} that of the API`,
      next: 'set the clock: signatures and shown times depend on it',
    },
  ]
}
