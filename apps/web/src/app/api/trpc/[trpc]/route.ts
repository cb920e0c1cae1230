import { trpcRoute } from '../../../../server/trpc/trpc-route.ts';

export const dynamic = 'force-dynamic';

export { trpcRoute as GET, trpcRoute as POST };
