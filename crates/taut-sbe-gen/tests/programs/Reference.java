import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Decodes messages with the reference's generated code and encodes what it has read again:
 * {@code Reference PACKAGE HEADER_BYTES FILE}. The file is messages: name, bytes, and the bytes that
 * are to come out, each behind its length. Prints each message of which others come out, and how
 * many agree.
 */
public final class Reference {
    public static void main(String[] arguments) throws Exception {
        String schema = arguments[0];
        int header = Integer.parseInt(arguments[1]);
        ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(Path.of(arguments[2])));
        file.order(ByteOrder.LITTLE_ENDIAN);
        Class<?> headerClass = Class.forName(schema + ".MessageHeaderDecoder");
        int same = 0;
        while (file.hasRemaining()) {
            byte[] nameBytes = new byte[file.getInt()];
            file.get(nameBytes);
            byte[] bytes = new byte[file.getInt()];
            file.get(bytes);
            byte[] expected = new byte[file.getInt()];
            file.get(expected);
            String name = new String(nameBytes, StandardCharsets.UTF_8);
            String className = Character.toUpperCase(name.charAt(0)) + name.substring(1);
            UnsafeBuffer buffer = new UnsafeBuffer(bytes);
            Object head = headerClass.getConstructor().newInstance();
            headerClass.getMethod("wrap", DirectBuffer.class, int.class).invoke(head, buffer, 0);
            int blockLength = ((Number) headerClass.getMethod("blockLength").invoke(head)).intValue();
            int version = ((Number) headerClass.getMethod("version").invoke(head)).intValue();
            Class<?> dto = Class.forName(schema + "." + className + "Dto");
            Method decode =
                dto.getMethod("decodeFrom", DirectBuffer.class, int.class, int.class, int.class);
            try {
                Object message = decode.invoke(null, buffer, header, blockLength, version);
                byte[] again = (byte[]) dto.getMethod("bytesWithHeader", dto).invoke(null, message);
                if (Arrays.equals(expected, again)) {
                    same++;
                } else {
                    HexFormat hex = HexFormat.of();
                    System.out.println(name + "\n  " + hex.formatHex(bytes) + "\n  " + hex.formatHex(expected)
                        + "\n  " + hex.formatHex(again));
                }
            } catch (java.lang.reflect.InvocationTargetException exception) {
                System.out.println(name + ": " + exception.getCause());
            }
        }
        System.out.println(same + " messages agree");
    }
}
