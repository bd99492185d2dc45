import { executorOf } from './executor.ts'
import { webhook } from './tasks/webhook.ts'

/** The Lambda handler of all types of kind `webhook`. */
export const handler = executorOf(webhook)
