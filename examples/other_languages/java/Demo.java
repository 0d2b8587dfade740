// SPDX-License-Identifier: MIT
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;

/** q and k rotated at two kinds of positions, and a refusal. cpp/demo.cpp is the same in C++. */
final class Demo {
    private static final int TOKENS = 2;
    private static final int HEAD_DIM = 64;

    private static FloatBuffer floats(int count) {
        return ByteBuffer.allocateDirect(4 * count).order(ByteOrder.nativeOrder()).asFloatBuffer();
    }

    private static void show(String what, FloatBuffer x) {
        final StringBuilder words = new StringBuilder();
        int sum = (int) 2166136261L;
        for (int i = 0; i < x.capacity(); ++i) {
            final int word = Float.floatToRawIntBits(x.get(i));
            sum = (sum ^ word) * 16777619;
            final int feature = i - (x.capacity() - HEAD_DIM);
            if (feature >= 0 && feature < 8) words.append(String.format(" %08x", word));
        }
        System.out.printf("%-14s%s sum %08x%n", what, words, sum);
    }

    public static void main(String[] arguments) {
        final FloatBuffer q = floats(TOKENS * 2 * HEAD_DIM);
        final FloatBuffer k = floats(TOKENS * HEAD_DIM);
        for (int i = 0; i < q.capacity(); ++i) q.put(i, (i - 100) / 8.0f);
        for (int i = 0; i < k.capacity(); ++i) k.put(i, (50 - i) / 8.0f);

        try (Table table = new Table(HEAD_DIM, 500000.0, 32.0, 131072)) { // Llama 3.2 1B
            table.apply(q, k, TOKENS, 100000); // positions 100000 and 100001
            show("q from 100000:", q);
            show("k from 100000:", k);
            table.apply(q, k, TOKENS, new long[] {7, 131071});
            show("q by ids:", q);
            show("k by ids:", k);
            try {
                table.apply(q, k, TOKENS, 131071);
            } catch (IndexOutOfBoundsException refusal) {
                System.out.println("refused: " + refusal.getMessage());
            }
            show("q as it was:", q);
        }
    }
}
