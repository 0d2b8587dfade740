// SPDX-License-Identifier: MIT
import java.nio.ByteOrder;
import java.nio.FloatBuffer;

/**
 * A table, to be closed when no thread uses it. Tensors are direct buffers: they lie outside the heap, where no garbage
 * collector moves them. Refusals are IllegalArgumentException, and IndexOutOfBoundsException for positions.
 */
final class Table implements AutoCloseable {
    static {
        System.loadLibrary("rope_java");
    }

    private final int headDim;
    private long handle;

    /** Makes the table of a model with the schedule of Llama 3. */
    Table(int headDim, double base, double factor, long positions) {
        this.headDim = headDim;
        handle = create(headDim, base, factor, positions);
    }

    /** Rotates q and k in place, [tokens, heads, headDim], each with heads of its own, from a position on. */
    void apply(FloatBuffer q, FloatBuffer k, int tokens, long start) {
        apply(handle, q, heads(q, tokens), k, heads(k, tokens), tokens, headDim, start, null);
    }

    /** The same at one position for each token. */
    void apply(FloatBuffer q, FloatBuffer k, int tokens, long[] ids) {
        apply(handle, q, heads(q, tokens), k, heads(k, tokens), tokens, headDim, 0, ids);
    }

    /** Frees it; then apply is refused. */
    @Override
    public void close() {
        free(handle);
        handle = 0;
    }

    private int heads(FloatBuffer x, int tokens) {
        final int heads = tokens < 1 ? 0 : x.capacity() / headDim / tokens;
        if (!x.isDirect() || x.isReadOnly() || x.order() != ByteOrder.nativeOrder()) {
            throw new IllegalArgumentException("The buffer must be direct, writable and in the order of the machine.");
        }
        if (heads == 0 || heads * headDim * tokens != x.capacity()) {
            throw new IllegalArgumentException(x.capacity() + " numbers are not " + tokens + " tokens of whole heads.");
        }
        return heads;
    }

    private static native long create(int headDim, double base, double factor, long positions);

    private static native void apply(long handle, FloatBuffer q, int qHeads, FloatBuffer k, int kHeads, int tokens,
            int headDim, long start, long[] ids);

    private static native void free(long handle);
}
