import { descriptionAnswer, healthAnswer } from '../../api/diagnosis/health.ts'
import { operation } from '../operation.ts'

/** The operations about the service itself. */
export const serviceOperations = [
  operation({
    name: 'health',
    tag: 'Service',
    summary: 'Check that the API answers',
    description: 'Reads nothing from the table.',
    answers: { 200: { description: 'The API answers.', schema: healthAnswer } },
    handle: async ({ version }) => ({ status: 200, body: { status: 'ok', version } }),
  }),
  operation({
    name: 'openapi',
    tag: 'Service',
    summary: 'Get this document',
    answers: { 200: { description: 'This document.', schema: descriptionAnswer } },
    handle: async ({ description }) => ({ status: 200, body: await description() }),
  }),
]
