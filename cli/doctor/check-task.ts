import type { WhyAnswer } from '../../shared/api/diagnosis/why.ts'
import type { Context } from '../system/with-system.ts'
import { adviceWithCommands } from './advice.ts'
import type { Finding } from './finding.ts'

/** Every other reason is a notice: the task waits for something, which may be intended. */
const LEVELS: Partial<Readonly<Record<WhyAnswer['reason'], Finding['level']>>> = {
  due: 'fine',
  dispatched: 'fine',
  canvas: 'fine',
  running: 'fine',
  succeeded: 'fine',
  crashing: 'wrong',
  stuck: 'wrong',
  'undo-failed': 'wrong',
  failed: 'wrong',
}

/** Why a task does not run, or how it ended. The API knows. */
export async function checkTask({ client, followUp }: Context, id: string): Promise<Finding[]> {
  const { reason, sentence, next } = await client.why(id)
  const advice = adviceWithCommands(next, followUp)
  return [{ level: LEVELS[reason] ?? 'notice', check: 'task', text: sentence, next: advice }]
}
