import { describeQuickstart } from '../support/package/quickstart.ts'

describeQuickstart('by pnpm', { manager: 'pnpm' })

describeQuickstart('in a workspace of pnpm', { manager: 'pnpm', inWorkspace: true })
